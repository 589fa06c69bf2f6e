// Command rabbitmq-vhost is a plugin that gives a deployment a virtual host of
// its own on a RabbitMQ server, with an account that may do everything in it and
// nothing outside. Its delete removes both, and with them all queues, exchanges
// and connections.
//
// It speaks the HTTP API of RabbitMQ's management plugin, which must be enabled.
// Both actions may be repeated; a second create keeps queues and messages and
// sets a new password.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: createVhost, Delete: removeVhost, Check: checkVhost})
}

type parameters struct {
	Host           string  `json:"host"`
	Port           int     `json:"port"`
	ManagementPort int     `json:"management_port"`
	TLS            bool    `json:"tls"`
	AdminUser      string  `json:"admin_user"`
	Vhost          string  `json:"vhost"`
	User           string  `json:"user"`
	ConnectSeconds float64 `json:"connect_seconds"`
}

func readParameters(req stdio.Request) (parameters, error) {
	// The defaults are those component.json shows.
	p := parameters{Port: 5672, ManagementPort: 15672, AdminUser: "guest", ConnectSeconds: 60}
	if err := req.Bind(&p); err != nil {
		return p, err
	}
	if p.User == "" {
		p.User = p.Vhost
	}
	switch {
	case p.Host == "" || p.Vhost == "":
		return p, errors.New("parameters \"host\" and \"vhost\" are required")
	case req.Secrets["adminPassword"] == "":
		return p, errors.New("secret \"adminPassword\" is required; " +
			"map it to a reference such as ${{ secrets.RABBITMQ_PASSWORD }}")
	case p.Vhost == "/" || p.User == p.AdminUser:
		return p, errors.New("parameters \"vhost\" and \"user\" must not be the server's own")
	}
	return p, nil
}

func createVhost(ctx context.Context, req stdio.Request, log *slog.Logger) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	b := newBroker(p, req.Secrets["adminPassword"])
	if err := b.waitUntilUp(ctx, log); err != nil {
		return stdio.Response{}, err
	}
	// Letters and digits only: it goes into a URL and possibly into shells.
	password := rand.Text()
	if err := b.ensureVhost(ctx, password); err != nil {
		return stdio.Response{}, err
	}
	log.Info("virtual host ready", "vhost", p.Vhost, "user", p.User)
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("virtual host %s on %s is ready for %s", p.Vhost, p.Host, p.User),
		Outputs: map[string]any{
			"host": p.Host, "port": p.Port, "vhost": p.Vhost, "user": p.User,
			"password": password, "url": connectionURL(p, password),
		},
		Metadata: []stdio.Metadatum{
			{Name: "Virtual host", Value: p.Vhost}, {Name: "Account", Value: p.User},
		},
	}, nil
}

func removeVhost(ctx context.Context, req stdio.Request, log *slog.Logger) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	// What create really made counts, should the parameters differ by now.
	var made struct {
		Vhost string `json:"vhost"`
		User  string `json:"user"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.Vhost != "" && made.User != "" {
		p.Vhost, p.User = made.Vhost, made.User
	}
	b := newBroker(p, req.Secrets["adminPassword"])
	if err := b.waitUntilUp(ctx, log); err != nil {
		return stdio.Response{}, err
	}
	if err := b.dropVhost(ctx); err != nil {
		return stdio.Response{}, err
	}
	log.Info("removed", "vhost", p.Vhost, "user", p.User)
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("virtual host %s and account %s are gone", p.Vhost, p.User),
	}, nil
}

// checkVhost asks for the account's rights in the virtual host, which are gone with
// either of the two.
func checkVhost(ctx context.Context, req stdio.Request, log *slog.Logger) (stdio.Response, error) {
	p, err := readParameters(req)
	if err != nil {
		return stdio.Response{}, err
	}
	var made struct {
		Vhost string `json:"vhost"`
		User  string `json:"user"`
	}
	if err := req.BindOutputs(&made); err != nil {
		return stdio.Response{}, err
	}
	if made.Vhost == "" || made.User == "" {
		return stdio.Response{}, errors.New("create has not said which virtual host it made")
	}
	err = newBroker(p, req.Secrets["adminPassword"]).callAPI(ctx, http.MethodGet,
		"look for the rights of "+made.User+" in virtual host "+made.Vhost, nil,
		"permissions", made.Vhost, made.User)
	if err != nil {
		return stdio.Response{}, err
	}
	log.Info("virtual host and account are there", "vhost", made.Vhost, "user", made.User)
	return stdio.Response{Success: true,
		Output: fmt.Sprintf("%s may use virtual host %s", made.User, made.Vhost)}, nil
}

// connectionURL is a connection URL; it holds the password. A virtual host is one
// path segment of it.
func connectionURL(p parameters, password string) string {
	scheme := "amqp"
	if p.TLS {
		scheme = "amqps"
	}
	return scheme + "://" + url.UserPassword(p.User, password).String() + "@" +
		net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) + "/" + url.PathEscape(p.Vhost)
}
