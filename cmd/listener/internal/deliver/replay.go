package deliver

import (
	"context"
	"time"

	"github.com/prefect-openlineage/listener/state"
)

const (
	letterPage = 500
	// clockSlack is how far the clock may have gone back since the first of the letters without one being missed.
	clockSlack = time.Hour
)

// letters are dead letters of one destination by their places in the outbox. None died before since.
type letters struct {
	seqs  []int64
	since time.Time
}

func (l letters) with(others letters) letters {
	if len(l.seqs) == 0 {
		return others
	}
	if len(others.seqs) > 0 {
		l.seqs = append(l.seqs, others.seqs...)
		if others.since.Before(l.since) {
			l.since = others.since
		}
	}
	return l
}

// replay makes dead letters pending again. The store knows them by numbers of their own. An operator may have replayed
// or dropped some meanwhile.
func (d *drain) replay(ctx context.Context, dead letters) error {
	wanted := make(map[int64]struct{}, len(dead.seqs))
	for _, seq := range dead.seqs {
		wanted[seq] = struct{}{}
	}
	filter := state.DeadFilter{Destination: d.to.Name, Since: dead.since.Add(-clockSlack), Limit: letterPage}
	var ids []int64
	for {
		page, err := d.outbox.DeadLetters(ctx, filter)
		if err != nil {
			return err
		}
		for _, letter := range page {
			if _, ok := wanted[letter.Seq]; ok {
				ids = append(ids, letter.ID)
			}
			filter.After = letter.ID
		}
		if len(page) < filter.Limit {
			break
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := d.outbox.Replay(ctx, ids)
	return err
}
