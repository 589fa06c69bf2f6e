package main

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"
)

// startOIDC runs a provider that says it is at the address of the test's proxy.
func startOIDC(options []byte) (server, error) {
	var given struct{ Address string }
	if err := json.Unmarshal(options, &given); err != nil {
		return server{}, err
	}
	m, err := mockoidc.NewServer(nil)
	if err != nil {
		return server{}, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return server{}, err
	}
	if err := m.Start(l, nil); err != nil {
		return server{}, err
	}
	m.Server.Addr = given.Address
	control := http.NewServeMux()
	control.HandleFunc("/queue", func(w http.ResponseWriter, r *http.Request) {
		var p person
		err := json.NewDecoder(r.Body).Decode(&p)
		if err == nil {
			m.QueueUser(p)
		}
		writeAnswer(w, nil, err)
	})
	return server{control: control, ready: map[string]string{"Address": l.Addr().String(),
		"IssuerPath": mockoidc.IssuerBase, "ClientID": m.ClientID,
		"ClientSecret": m.ClientSecret}}, nil
}

// person is a user about whom the provider says exactly these claims.
type person struct {
	Subject         string
	Token, UserInfo map[string]any
}

func (p person) ID() string { return p.Subject }

func (p person) Userinfo([]string) ([]byte, error) { return json.Marshal(p.UserInfo) }

func (p person) Claims(_ []string, base *mockoidc.IDTokenClaims) (jwt.Claims, error) {
	text, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	all := jwt.MapClaims{}
	err = json.Unmarshal(text, &all)
	maps.Copy(all, p.Token)
	return all, err
}
