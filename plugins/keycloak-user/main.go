// Command keycloak-user is a plugin that creates a user in a Keycloak realm,
// with a generated password unless one is given. Its delete removes the user; its
// check finds it.
//
// Both actions may be repeated: a user of that name that is already there gets
// the given fields and a new password, and one that is gone is no error.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/plugins/keycloak"
	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: createUser, Delete: removeUser, Check: checkUser})
}

type parameters struct {
	URL            string  `json:"url"`
	Realm          string  `json:"realm"`
	AdminUser      string  `json:"admin_user"`
	AdminRealm     string  `json:"admin_realm"`
	Username       string  `json:"username"`
	Email          string  `json:"email"`
	FirstName      string  `json:"first_name"`
	LastName       string  `json:"last_name"`
	ConnectSeconds float64 `json:"connect_seconds"`
}

func readParameters(req stdio.Request) (parameters, error) {
	// The defaults are those component.json shows.
	p := parameters{AdminUser: "admin", AdminRealm: "master", ConnectSeconds: 60}
	if err := req.Bind(&p); err != nil {
		return p, err
	}
	switch {
	case !strings.HasPrefix(p.URL, "http://") && !strings.HasPrefix(p.URL, "https://"):
		return p, fmt.Errorf("parameter \"url\" must begin with http:// or https://, not %q", p.URL)
	case p.Realm == "" || p.Username == "":
		return p, errors.New("parameters \"realm\" and \"username\" are required")
	case req.Secrets["adminPassword"] == "":
		return p, errors.New("secret \"adminPassword\" is required; " +
			"map it to a reference such as ${{ secrets.KEYCLOAK_ADMIN_PASSWORD }}")
	}
	p.URL = strings.TrimRight(p.URL, "/")
	return p, nil
}

func signIn(
	ctx context.Context, p parameters, password string, log *slog.Logger,
) (users, error) {
	k, err := keycloak.SignIn(ctx, keycloak.Admin{
		URL: p.URL, Realm: p.AdminRealm, User: p.AdminUser, Password: password,
		Patience: wait.Seconds(p.ConnectSeconds),
	}, log)
	return users{k, p.Realm}, err
}

func createUser(ctx context.Context, req stdio.Request, log *slog.Logger) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	u, err := signIn(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	id, err := u.ensureUser(ctx, p, log)
	if err != nil {
		return stdio.Response{}, err
	}
	password := req.Secrets["password"]
	if password == "" {
		password = rand.Text()
	}
	if err := u.setPassword(ctx, id, password); err != nil {
		return stdio.Response{}, err
	}
	log.Info("user ready", "user", p.Username, "realm", p.Realm, "id", id)
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("user %s of realm %s is ready", p.Username, p.Realm),
		Outputs: map[string]any{
			"id": id, "username": p.Username, "realm": p.Realm, "password": password,
		},
		Metadata: []stdio.Metadatum{
			{Name: "User", Value: p.Username}, {Name: "Realm", Value: p.Realm},
		},
	}, nil
}

func removeUser(ctx context.Context, req stdio.Request, log *slog.Logger) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	u, err := signIn(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	// Found by name and not by the earlier id: create may have made the user
	// without its answer having arrived.
	id, err := u.findUser(ctx, p.Username)
	if err == nil && id != "" {
		err = u.deleteUser(ctx, id)
	}
	if err != nil {
		return stdio.Response{}, err
	}
	log.Info("user gone", "user", p.Username, "realm", p.Realm)
	return stdio.Response{
		Success: true, Output: fmt.Sprintf("user %s of realm %s is gone", p.Username, p.Realm),
	}, nil
}

// checkUser checks for the very user that create made: a user of the same name that was created
// later has another password.
func checkUser(ctx context.Context, req stdio.Request, log *slog.Logger) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	var made struct {
		ID       string `json:"id"`
		Username string `json:"username"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.ID == "" || made.Username == "" {
		return stdio.Response{}, errors.New("create has not said which user it made")
	}
	u, err := signIn(ctx, p, req.Secrets["adminPassword"], log)
	if err != nil {
		return stdio.Response{}, err
	}
	id, err := u.findUser(ctx, made.Username)
	switch {
	case err != nil:
		return stdio.Response{}, err
	case id == "":
		return stdio.Response{}, fmt.Errorf("realm %s has no user %s", p.Realm, made.Username)
	case id != made.ID:
		return stdio.Response{}, fmt.Errorf("user %s of realm %s is another one than was made",
			made.Username, p.Realm)
	}
	return stdio.Response{Success: true,
		Output: fmt.Sprintf("user %s of realm %s is there", made.Username, p.Realm)}, nil
}
