package identity

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// knownKeys remembers for a moment what keys resolve to, by their digest. The zero value is empty.
type knownKeys struct {
	mu   sync.RWMutex
	keys map[string]knownKey
}

type knownKey struct {
	Principal
	until time.Time
}

const (
	// knownFor is how long a deletion by another process may go unnoticed; less than a second in all.
	knownFor = 500 * time.Millisecond
	// knownMost bounds how many are remembered.
	knownMost = 10_000
)

func (k *knownKeys) find(sum []byte, now time.Time) (Principal, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	known, ok := k.keys[string(sum)]
	return known.Principal, ok && now.Before(known.until)
}

func (k *knownKeys) keep(sum []byte, p Principal, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys == nil || len(k.keys) >= knownMost {
		k.keys = map[string]knownKey{}
	}
	k.keys[string(sum)] = knownKey{p, now.Add(knownFor)}
}

// forget drops a key.
func (k *knownKeys) forget(id uuid.UUID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for sum, known := range k.keys {
		if *known.KeyID == id {
			delete(k.keys, sum)
		}
	}
}
