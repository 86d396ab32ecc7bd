package app

import (
	"context"
	"errors"
	"time"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// Adoption is what became of a store that was let go over to another Prefect.
type Adoption struct {
	Before string `json:"before,omitempty"` // the address of the Prefect that it belonged to
	Now    string `json:"now"`
}

// Adopt lets the store go over to the Prefect of the settings, whatever that has: runs that were told about so far are no
// sign of it any more. A daemon that holds because of them goes on by itself.
func Adopt(ctx context.Context, o Options) (done Adoption, err error) {
	store, err := sqlite.Open(ctx, o.Config.StatePath, sqlite.Options{})
	if err != nil {
		return Adoption{}, storeError(o, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	owner, err := store.Owner(ctx)
	if err != nil {
		return Adoption{}, err
	}
	since := time.Now()
	last, err := store.Acquaintances(ctx, time.Time{}, 1)
	if err != nil {
		return Adoption{}, err
	}
	if len(last) > 0 && last[0].Said.After(since) { // told about while the clock was ahead
		since = last[0].Said
	}
	api := o.Config.Prefect.URL
	return Adoption{Before: owner.API, Now: api}, store.SetOwner(ctx, state.Owner{API: api, Since: since})
}
