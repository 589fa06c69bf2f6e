// Command redis-user is a plugin that gives a deployment an account of its own
// on a Redis server, which may touch keys and channels with its own prefix only
// and may run no command that concerns the server. Its delete removes the
// account and every key with the prefix.
//
// Both actions may be repeated. Redis keeps accounts in memory unless it has an
// ACL file; with one, the plugin has the server save it.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: createAccount, Delete: removeAccount, Check: checkAccount})
}

type parameters struct {
	Host           string   `json:"host"`
	Port           int      `json:"port"`
	TLS            bool     `json:"tls"`
	Database       int      `json:"database"`
	AdminUser      string   `json:"admin_user"`
	User           string   `json:"user"`
	KeyPrefix      string   `json:"key_prefix"`
	Rules          []string `json:"rules"`
	ConnectSeconds float64  `json:"connect_seconds"`
}

// defaultRules leave out what concerns the server or other accounts: CONFIG,
// ACL, FLUSHALL, KEYS, DEBUG, MONITOR, SHUTDOWN and the like.
func defaultRules() []string { return []string{"+@all", "-@admin", "-@dangerous", "+info"} }

func readParameters(req stdio.Request) (parameters, error) {
	// The defaults are those component.json shows.
	p := parameters{Port: 6379, AdminUser: "default", ConnectSeconds: 30, Rules: defaultRules()}
	if err := req.Bind(&p); err != nil {
		return p, err
	}
	if p.KeyPrefix == "" {
		p.KeyPrefix = p.User + ":"
	}
	switch {
	case p.Host == "" || p.User == "":
		return p, errors.New("parameters \"host\" and \"user\" are required")
	case p.User == "default" || p.User == p.AdminUser:
		return p, errors.New("parameter \"user\" must not be an account of the server's own")
	case strings.ContainsAny(p.User+p.KeyPrefix, " \t\r\n\x00"):
		return p, errors.New("parameters \"user\" and \"key_prefix\" may hold no white space")
	}
	for _, rule := range p.Rules {
		// Anything else could give the account a second password or all keys.
		if !strings.HasPrefix(rule, "+") && !strings.HasPrefix(rule, "-") {
			return p, fmt.Errorf("parameter \"rules\" lists commands only, such as +get or "+
				"-@write, not %q", rule)
		}
	}
	return p, nil
}

func createAccount(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	admin, err := connectAdmin(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	defer hangUp(admin)
	// Letters and digits only: it goes into a URL and possibly into shells.
	password := rand.Text()
	if err := setUser(ctx, admin, p, password); err != nil {
		return stdio.Response{}, err
	}
	if err := trySignIn(ctx, p, password); err != nil {
		return stdio.Response{}, err
	}
	log.Info("the account can sign in", "user", p.User, "keys", p.KeyPrefix+"*")
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("account %s on %s may use keys %s*", p.User, p.Host, p.KeyPrefix),
		Outputs: map[string]any{
			"host": p.Host, "port": p.Port, "user": p.User, "password": password,
			"keyPrefix": p.KeyPrefix, "url": connectionURL(p, password),
		},
		Metadata: []stdio.Metadatum{
			{Name: "Account", Value: p.User}, {Name: "Keys", Value: p.KeyPrefix + "*"},
		},
	}, nil
}

func removeAccount(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	// What create really made counts, should the parameters differ by now.
	var made struct {
		User      string `json:"user"`
		KeyPrefix string `json:"keyPrefix"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.User != "" && made.KeyPrefix != "" {
		p.User, p.KeyPrefix = made.User, made.KeyPrefix
	}
	admin, err := connectAdmin(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	defer hangUp(admin)
	// The account goes first, so that no new keys are written.
	if err := dropUser(ctx, admin, p); err != nil {
		return stdio.Response{}, err
	}
	keys, err := dropKeys(ctx, admin, p.KeyPrefix)
	if err != nil {
		return stdio.Response{}, err
	}
	log.Info("removed", "user", p.User, "keys", keys)
	return stdio.Response{
		Success: true, Output: fmt.Sprintf("account %s is gone, with its keys", p.User),
		Metadata: []stdio.Metadatum{{Name: "Keys removed", Value: strconv.Itoa(keys)}},
	}, nil
}

// checkAccount signs in with what create gave out: an account that is gone, or that a
// restart without an ACL file forgot, is found out here.
func checkAccount(
	ctx context.Context,
	req stdio.Request,
	log *slog.Logger,
) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	var made struct {
		User     string `json:"user"`
		Password string `json:"password"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.User == "" {
		return stdio.Response{}, errors.New("create has not said which account it made")
	}
	p.User = made.User
	if err := trySignIn(ctx, p, made.Password); err != nil {
		return stdio.Response{}, err
	}
	log.Info("the account can sign in", "user", p.User)
	return stdio.Response{Success: true,
		Output: fmt.Sprintf("account %s can sign in to %s", p.User, p.Host)}, nil
}

// connectionURL is a connection URL; it holds the password.
func connectionURL(p parameters, password string) string {
	u := url.URL{
		Scheme: "redis", User: url.UserPassword(p.User, password),
		Host: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)), Path: "/" + strconv.Itoa(p.Database),
	}
	if p.TLS {
		u.Scheme = "rediss"
	}
	return u.String()
}
