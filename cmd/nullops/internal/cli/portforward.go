package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
)

func portForwardCommand() *cobra.Command {
	var env, listen string
	c := &cobra.Command{
		Use:   "port-forward DEPLOYMENT/SERVICE:PORT",
		Short: "Reach a port of a service on this machine, for databases and debuggers",
		Long: "Listens on this machine and passes connections on to a port that the service declares,\n" +
			"exposed or not. It takes full access; the audit log records each connection.",
		Args: exit.ExactArgs(1),
		Example: "  nullops port-forward daily/db:5432\n" +
			"  nullops port-forward daily/db:5432 --listen 127.0.0.1:15432",
	}
	c.Flags().StringVar(&env, "env", "", "environment, if the name exists in several")
	c.Flags().StringVar(&listen, "listen", "",
		"address to listen on; 127.0.0.1 and the same port by default")
	c.RunE = func(c *cobra.Command, args []string) error {
		name, service, port, err := parseTarget(args[0])
		if err != nil {
			return exit.AsUsageError(err)
		}
		api, err := newClient()
		if err != nil {
			return err
		}
		d, err := api.findDeployment(c.Context(), name, env)
		if err != nil {
			return err
		}
		if listen == "" {
			listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		}
		f := forward{client: api, deployment: d.Id, service: service, port: port}
		return f.run(c, listen)
	}
	return c
}

// parseTarget reads deployment/service:port.
func parseTarget(text string) (deployment, service string, port int, err error) {
	deployment, rest, found := strings.Cut(text, "/")
	service, number, withPort := strings.Cut(rest, ":")
	port, bad := strconv.Atoi(number)
	if !found || !withPort || bad != nil || port < 1 || port > 65535 ||
		deployment == "" || service == "" {
		return "", "", 0, fmt.Errorf("%q is not DEPLOYMENT/SERVICE:PORT, such as daily/db:5432", text)
	}
	return deployment, service, port, nil
}

// forward passes connections on until it is interrupted.
type forward struct {
	client              *client
	deployment, service string
	port                int
}

func (f forward) run(c *cobra.Command, listen string) error {
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	// Fail now with the error that the first connection would get.
	r, err := f.client.CreateReachTicketWithResponse(ctx, f.deployment, f.service, f.ticketRequest())
	if err := checkAnswer(r, err); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("%w: choose another with --listen", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	fmt.Fprintf(c.ErrOrStderr(), "Forwarding %s to port %d of %s. Stop with Ctrl-C.\n",
		l.Addr(), f.port, f.service)
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			cancel()
			if c.Context().Err() != nil {
				return nil
			}
			return err
		}
		open.Go(func() {
			if err := f.forwardConn(ctx, conn); err != nil && ctx.Err() == nil {
				fmt.Fprintln(c.ErrOrStderr(), "nullops:", output.SanitizeText(err.Error()))
			}
		})
	}
}

func (f forward) ticketRequest() apiclient.ReachTicketCreate {
	return apiclient.ReachTicketCreate{Kind: apiclient.ReachTicketCreateKindForward, Port: &f.port}
}

// forwardConn connects one connection of this machine with the service.
func (f forward) forwardConn(ctx context.Context, conn net.Conn) error {
	defer func() { _ = conn.Close() }()
	ws, err := f.client.openReach(ctx, f.deployment, f.service, f.ticketRequest(), greeting{})
	if err != nil {
		return err
	}
	far := websocket.NetConn(ctx, ws, websocket.MessageBinary)
	ended := make(chan error, 2)
	go func() {
		_, err := io.Copy(far, conn)
		if err == nil {
			// An empty message is the end of what this side sends. The service may
			// answer only after it.
			err = ws.Write(ctx, websocket.MessageBinary, nil)
		}
		if err != nil {
			ended <- err
		}
	}()
	go func() {
		_, err := io.Copy(conn, far)
		ended <- err
	}()
	err = <-ended
	_ = far.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
