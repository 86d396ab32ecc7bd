package sqlite

// unblocked is true of a pending row d that may be sent: no older row of its run is pending at its destination, nor is
// the first event of its run's ancestor, nor has the destination before it in its group the event still before it.
// Rows carry the answer themselves, so that claiming never has to ask; each change below asks anew for the few
// rows that it may free or hold.
const unblocked = `
	NOT EXISTS (SELECT 1 FROM deliveries o WHERE o.dest = d.dest AND o.lane = d.lane AND o.seq < d.seq AND o.state < 2)
	AND NOT EXISTS (SELECT 1 FROM deliveries f
		WHERE f.dest = d.dest AND f.lane = d.ancestor AND f.first = 1 AND f.state < 2)
	AND NOT EXISTS (SELECT 1 FROM destinations x JOIN deliveries a ON a.seq = d.seq AND a.dest = x.after AND a.state < 2
		WHERE x.dest = d.dest)`

// freeLane readies the oldest pending row of a run at a destination, if nothing else holds it.
func (t *tx) freeLane(dest, lane int64) error {
	_, err := t.exec(`UPDATE deliveries AS d SET ready = 1
		WHERE d.dest = ?1 AND d.state < 2 AND d.ready = 0
		AND d.seq = (SELECT seq FROM deliveries WHERE dest = ?1 AND lane = ?2 AND state < 2 ORDER BY seq LIMIT 1)
		AND `+unblocked, dest, lane)
	return err
}

// freeLanes is freeLane for several runs.
func (t *tx) freeLanes(dest int64, lanes []int64) error {
	_, err := t.exec(`UPDATE deliveries AS d SET ready = 1
		WHERE d.dest = ?1 AND d.state < 2 AND d.ready = 0
		AND d.seq IN (SELECT (SELECT seq FROM deliveries WHERE dest = ?1 AND lane = j.value AND state < 2 ORDER BY seq LIMIT 1)
			FROM json_each(?2) j)
		AND `+unblocked, dest, list(lanes))
	return err
}

// freeChildren readies what waited for a run's first event at a destination.
func (t *tx) freeChildren(dest, lane int64) error {
	_, err := t.exec(`UPDATE deliveries AS d SET ready = 1
		WHERE d.dest = ? AND d.ancestor = ? AND d.state < 2 AND d.ready = 0 AND `+unblocked, dest, lane)
	return err
}

// freeRow readies one row, if nothing holds it any more.
func (t *tx) freeRow(seq, dest int64) error {
	_, err := t.exec(`UPDATE deliveries AS d SET ready = 1 WHERE d.seq = ? AND d.dest = ? AND d.state < 2 AND d.ready = 0 AND `+unblocked,
		seq, dest)
	return err
}

// holdLane makes a run's rows at a destination wait, all but the oldest.
func (t *tx) holdLane(dest, lane int64) error {
	_, err := t.exec(`UPDATE deliveries SET ready = 0 WHERE dest = ?1 AND lane = ?2 AND state < 2 AND ready = 1
		AND seq > (SELECT min(seq) FROM deliveries WHERE dest = ?1 AND lane = ?2 AND state < 2)`, dest, lane)
	return err
}

// holdChildren makes rows wait whose run's ancestor has its first event pending from now on.
func (t *tx) holdChildren(dest, lane int64) error {
	_, err := t.exec(`UPDATE deliveries SET ready = 0 WHERE dest = ? AND ancestor = ? AND state < 2 AND ready = 1`,
		dest, lane)
	return err
}
