package sip

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/emiago/sipgo/sip"
	"github.com/icholy/digest"
)

// nonceLife is how long a challenge can be answered.
const nonceLife = time.Minute

// nonceKey makes nonces that need no memory.
var nonceKey = func() (k [32]byte) { _, _ = rand.Read(k[:]); return k }()

func nonce(at time.Time, callID string) string {
	stamp := strconv.FormatInt(at.Unix(), 36)
	mac := hmac.New(sha256.New, nonceKey[:])
	mac.Write([]byte(stamp + "|" + callID))
	return stamp + "." + hex.EncodeToString(mac.Sum(nil)[:16])
}

// challenge asks a caller for credentials. A nonce is good for one Call-ID and a minute.
func (c *Carrier) challenge(req *sip.Request, tx sip.ServerTransaction, t *trunk) {
	// MD5 alone: gateways that know no other stumble over a second challenge.
	chal := digest.Challenge{Realm: "callwright", Nonce: nonce(time.Now(), string(*req.CallID())), Algorithm: "MD5", QOP: []string{"auth"}}
	c.refuse(req, tx, 401, "Unauthorized", generic("WWW-Authenticate", chal.String()))
}

// proven reports whether a request carries the trunk's user and secret.
func (c *Carrier) proven(req *sip.Request, t *trunk) bool {
	for _, h := range req.GetHeaders("Authorization") {
		cred, err := digest.ParseCredentials(h.Value())
		if err != nil || cred.Username != t.User || cred.Realm != "callwright" || cred.QOP != "auth" {
			continue
		}
		stamp, _, _ := strings.Cut(cred.Nonce, ".")
		at, err := strconv.ParseInt(stamp, 36, 64)
		if err != nil {
			continue
		}
		made := time.Unix(at, 0)
		if cred.Nonce != nonce(made, string(*req.CallID())) || time.Since(made) > nonceLife {
			continue
		}
		want, err := digest.Digest(
			&digest.Challenge{Realm: cred.Realm, Nonce: cred.Nonce, Algorithm: cred.Algorithm, QOP: []string{"auth"}},
			digest.Options{Method: string(req.Method), URI: cred.URI, Username: t.User, Password: t.Secret, Cnonce: cred.Cnonce, Count: cred.Nc},
		)
		if err == nil && subtle.ConstantTimeCompare([]byte(want.Response), []byte(cred.Response)) == 1 {
			return true
		}
	}
	return false
}

// stale reports whether a challenge only wants a newer nonce.
func stale(res *sip.Response) bool {
	for _, name := range []string{"WWW-Authenticate", "Proxy-Authenticate"} {
		for _, h := range res.GetHeaders(name) {
			if chal, err := digest.ParseChallenge(h.Value()); err == nil && chal.Stale {
				return true
			}
		}
	}
	return false
}
