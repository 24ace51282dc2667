package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"

	"github.com/google/uuid"
)

// Place is where a sealed value is stored.
type Place struct {
	Workspace uuid.UUID
	Table     string
	Row       uuid.UUID
	Column    string
}

// ErrSealed is returned for a value that does not open: changed, of another place, or of another master key.
var ErrSealed = errors.New("sealed value does not open here")

// sealVersion is the first byte of every sealed value: AES-256-GCM with a random nonce, a key per workspace.
const sealVersion = 1

// Seal encrypts a value for its place. Equal values give different results.
func (k Key) Seal(plain []byte, at Place) []byte {
	return k.cipher(at).Seal([]byte{sealVersion}, nil, plain, at.bytes())
}

// Open returns what was sealed for the same place, else ErrSealed.
func (k Key) Open(sealed []byte, at Place) ([]byte, error) {
	if len(sealed) == 0 || sealed[0] != sealVersion {
		return nil, ErrSealed
	}
	plain, err := k.cipher(at).Open(nil, nil, sealed[1:], at.bytes())
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// cipher has a key per workspace, which keeps the number of random nonces under one key small.
func (k Key) cipher(at Place) cipher.AEAD {
	block, err := aes.NewCipher(k.derive("seal " + at.Workspace.String()))
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return aead
		}
	}
	panic("secret: " + err.Error()) // only for key sizes that AES does not have
}

// bytes is the additional data: the ids have a fixed length and names hold no NUL, so no two places are alike.
func (p Place) bytes() []byte {
	b := append(p.Workspace[:], p.Row[:]...)
	b = append(b, p.Table...)
	b = append(b, 0)
	return append(b, p.Column...)
}
