package portal

import (
	"net/http"
	"time"
)

// The cookies of ours. Over https their names get the prefix __Host-, with which browsers keep them to this host and TLS.
const (
	sessionCookie = "callwright"
	flashCookie   = "callwright-flash"
)

func (v *visit) cookieName(name string) string {
	if v.p.https(v.r) {
		return "__Host-" + name
	}
	return name
}

func (v *visit) cookie(name string) string {
	c, err := v.r.Cookie(v.cookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie keeps a value in the browser until a time.
func (v *visit) setCookie(name, value string, until time.Time) {
	http.SetCookie(v.w, &http.Cookie{
		Name: v.cookieName(name), Value: value, Path: "/", Expires: until,
		HttpOnly: true, Secure: v.p.https(v.r), SameSite: http.SameSiteLaxMode,
	})
}

func (v *visit) dropCookie(name string) {
	http.SetCookie(v.w, &http.Cookie{
		Name: v.cookieName(name), Path: "/", MaxAge: -1,
		HttpOnly: true, Secure: v.p.https(v.r), SameSite: http.SameSiteLaxMode,
	})
}

// flashes are the messages that a page shows once after a change. Their keys travel in a cookie, never their words.
var flashes = map[string]string{
	"key-deleted":      "The key is deleted. It stopped working at once.",
	"role-changed":     "The role is changed.",
	"member-removed":   "The member is removed, and signed out everywhere.",
	"invite-deleted":   "The invite is taken back. Its link does not work any more.",
	"settings-saved":   "The settings are saved.",
	"password-changed": "Your password is changed. All other browsers are signed out.",
	"password-set":     "Your password is set. All other browsers are signed out.",
	"signed-out":       "You are signed out.",
	"signed-out-all":   "You are signed out everywhere.",
	"left":             "You left the workspace.",
	"welcome":          "Welcome. Your account is ready.",
}

// flash keeps a message for the next page.
func (v *visit) flash(key string) {
	v.setCookie(flashCookie, key, v.p.now().Add(time.Minute))
}

// takeFlash is the message that was kept, once.
func (v *visit) takeFlash() string {
	key := v.cookie(flashCookie)
	if key == "" {
		return ""
	}
	v.dropCookie(flashCookie)
	return flashes[key]
}
