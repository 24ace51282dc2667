package identity

import "context"

// Fragment is what a prefill becomes.
var Fragment = fragment

// Sweep deletes what has ended, as Run does now and then.
func (i *Identity) Sweep(ctx context.Context) { i.sweep(ctx) }
