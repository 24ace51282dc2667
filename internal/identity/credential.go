package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

// A credential is a prefix, 43 base62 digits that hold 256 random bits, and 6 base62 digits of the CRC-32 of all before
// them. The prefix tells its kind and lets scanners find leaked ones; the checksum refuses mistyped ones without asking
// the database. It never holds a dot, so it can not be taken for a user token. Only its SHA-256 is stored: 256 random
// bits need no slow hash.
const (
	keyPrefix     = "cw_live_" // an API key
	sessionPrefix = "cws_"     // a session
	linkPrefix    = "cwl_"     // a link that works once

	tokenRandom   = 43
	tokenChecksum = 6
	base62        = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func newToken(prefix string) string {
	random := make([]byte, 32)
	rand.Read(random) // never fails: crypto/rand
	body := prefix + digits(new(big.Int).SetBytes(random), tokenRandom)
	return body + checksum(body)
}

func wellFormed(prefix, token string) bool {
	cut := len(prefix) + tokenRandom
	return len(token) == cut+tokenChecksum && strings.HasPrefix(token, prefix) && checksum(token[:cut]) == token[cut:]
}

func checksum(body string) string {
	return digits(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), tokenChecksum)
}

// digits writes n in base 62 with leading zeros.
func digits(n *big.Int, width int) string {
	out := make([]byte, width)
	base, digit := big.NewInt(62), new(big.Int)
	for k := width - 1; k >= 0; k-- {
		n, digit = new(big.Int).DivMod(n, base, digit)
		out[k] = base62[digit.Int64()]
	}
	return string(out)
}

// digest is what is stored of a credential.
func digest(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}
