package stdiotest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// ServerAddress is where a server of a test answers, and its admin's password.
type ServerAddress struct {
	// Host is the address it listens on; containers reach any but loopback.
	Host, Port, Password string
}

// Address is host and port.
func (a ServerAddress) Address() string { return net.JoinHostPort(a.Host, a.Port) }

// URL is an HTTP address below the server.
func (a ServerAddress) URL(path string) string { return "http://" + a.Address() + path }

// FreePortOn returns a port of an address of this machine that nobody listened on.
func FreePortOn(t testing.TB, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// checkPort is the simplest sign of readiness: the port accepts a connection.
func (a ServerAddress) checkPort(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", a.Address())
	if err != nil {
		return err
	}
	return conn.Close()
}

// writeFile puts a file into the server's folder, where its user may read it.
func (s *Server) writeFile(name, text string) string {
	s.t.Helper()
	name = filepath.Join(s.Dir, name)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// MariaDB starts a MariaDB whose admin is root.
func MariaDB(t testing.TB, host, password string) ServerAddress {
	t.Helper()
	s := NewServer(t, "mariadbd")
	at := ServerAddress{Host: host, Port: FreePortOn(t, host), Password: password}
	data := filepath.Join(s.Dir, "data")
	s.Do("mariadb-install-db", "--no-defaults", "--datadir="+data, "--skip-test-db",
		"--auth-root-authentication-method=normal", "--skip-name-resolve", "--skip-log-bin")
	// One statement a line is how the server reads it.
	start := s.writeFile("start.sql", "CREATE USER 'root'@'%' IDENTIFIED BY '"+password+"';\n"+
		"GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;\n"+
		"DROP USER IF EXISTS 'root'@'127.0.0.1';\n")
	// It runs the file before it accepts anybody.
	s.Start(at.checkPort, "mariadbd", "--no-defaults", "--datadir="+data, "--bind-address="+host,
		"--port="+at.Port, "--socket="+filepath.Join(s.Dir, "socket"),
		"--pid-file="+filepath.Join(s.Dir, "pid"), "--init-file="+start,
		"--skip-name-resolve", "--innodb-buffer-pool-size=16M", "--skip-log-bin")
	return at
}

// Redis starts a Redis whose admin is default.
func Redis(t testing.TB, host, password string) ServerAddress {
	t.Helper()
	s := NewServer(t, "redis-server")
	at := ServerAddress{Host: host, Port: FreePortOn(t, host), Password: password}
	s.Start(at.checkPort, "redis-server", "--port", at.Port, "--bind", host, "--dir", s.Dir,
		"--save", "", "--requirepass", password)
	return at
}

// Postgres starts a PostgreSQL of the test's own whose admin is postgres. Most
// tests use the one of [PostgresURL], which containers cannot reach.
func Postgres(t testing.TB, host, password string) ServerAddress {
	t.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(programs) == 0 {
		programs = []string{"postgresql"}
	}
	bin := programs[len(programs)-1]
	s := NewServer(t, filepath.Join(bin, "postgres"))
	at := ServerAddress{Host: host, Port: FreePortOn(t, host), Password: password}
	data, secret := filepath.Join(s.Dir, "data"), s.writeFile("password", password)
	s.Do(filepath.Join(bin, "initdb"), "--pgdata="+data, "--username=postgres", "--no-sync",
		"--auth=scram-sha-256", "--pwfile="+secret, "--encoding=UTF8", "--locale=C")
	access := filepath.Join(data, "pg_hba.conf")
	if err := os.WriteFile(access, []byte("host all all all scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Start(at.checkPort, filepath.Join(bin, "postgres"), "-D", data, "-h", host, "-p", at.Port,
		"-c", "unix_socket_directories="+s.Dir, "-c", "fsync=off", "-c", "shared_buffers=16MB")
	return at
}

// RabbitMQ starts a RabbitMQ with its management plugin on Port; its admin is
// admin. Erlang's name server would outlive the test by itself, so the test runs
// one of its own.
func RabbitMQ(t testing.TB, host, password string) ServerAddress {
	t.Helper()
	const program = "/usr/lib/rabbitmq/bin/rabbitmq-server"
	s := NewServer(t, program)
	names, dist, amqp := FreePort(t), FreePort(t), FreePort(t)
	at := ServerAddress{Host: host, Port: FreePortOn(t, host), Password: password}
	s.Env = []string{
		"ERL_EPMD_PORT=" + names, "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_NODENAME=test" + dist + "@localhost", "RABBITMQ_DIST_PORT=" + dist,
		"RABBITMQ_MNESIA_BASE=" + s.Dir, "RABBITMQ_LOG_BASE=" + s.Dir, "RABBITMQ_LOGS=-",
		"RABBITMQ_CONF_ENV_FILE=" + s.writeFile("env.conf", ""),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + s.writeFile("plugins", "[rabbitmq_management].\n"),
		"RABBITMQ_CONFIG_FILE=" + s.writeFile("rabbit.conf", "listeners.tcp.1 = 127.0.0.1:"+amqp+
			"\nmanagement.tcp.ip = "+host+"\nmanagement.tcp.port = "+at.Port+
			"\ndefault_user = admin\ndefault_pass = "+password+"\n"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 2:2 -kernel inet_dist_use_interface {127,0,0,1}",
	}
	s.Start(AcceptsConnection(names), "epmd", "-port", names, "-address", "127.0.0.1")
	s.Start(at.checkManagement, program)
	return at
}

// checkManagement is true once the management plugin answers: the port opens earlier.
func (a ServerAddress) checkManagement(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL("/api/overview"), nil)
	if err != nil {
		return err
	}
	r.SetBasicAuth("admin", a.Password)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_ = answer.Body.Close() // only the status counts
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the broker answers %s", answer.Status)
	}
	return nil
}
