package api

import (
	"context"
	"net/http"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

// deviceCookieName names the cookie that identifies a browser after its session ended. It grants no
// access: it only selects a separate limit for wrong passwords.
func (s *server) deviceCookieName() string {
	if s.secure {
		return "__Host-nullops_device"
	}
	return "nullops_device"
}

// deviceKey reads the cookie; a browser that sends two of them is a new one.
func (s *server) deviceKey(r *http.Request) controlplane.Plain {
	cookies := r.CookiesNamed(s.deviceCookieName())
	if len(cookies) != 1 {
		return controlplane.Plain{}
	}
	return controlplane.NewPlain(cookies[0].Value)
}

// keepDeviceKey has the answer set the cookie in the browser.
func (s *server) keepDeviceKey(ctx context.Context, key controlplane.Plain) {
	c := http.Cookie{
		Name: s.deviceCookieName(), Value: key.Reveal(), Path: "/",
		MaxAge: int(accounts.DeviceLife / time.Second), HttpOnly: true, Secure: s.secure,
		SameSite: http.SameSiteLaxMode,
	}
	n := noteOf(ctx)
	n.cookies = append(n.cookies, c.String())
}
