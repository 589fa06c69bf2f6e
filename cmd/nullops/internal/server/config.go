package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/traefik/paerser/env"
	"github.com/traefik/paerser/flag"

	"github.com/nullops/nullops/internal/logs"
	"github.com/nullops/nullops/internal/tracing"
)

// envPrefix starts the name of every environment variable that is a setting:
// database.url is NULLOPS_DATABASE_URL and --database.url.
const envPrefix = "NULLOPS_"

// Settings is every setting of every server command. A flag wins over the
// environment, which wins over the file.
type Settings struct {
	Database  DatabaseSettings `description:"PostgreSQL 15 or newer."`
	Master    MasterSettings   `description:"Keys that seal secrets."`
	Vault     VaultSettings    `description:"Vault or OpenBao, for keys and secrets; off without it."`
	HTTP      HTTPSettings     `description:"API and UI."`
	OIDC      OIDCSettings     `description:"Sign-in with an OpenID provider; off without an issuer."`
	Passwords PasswordSettings `description:"Rules of passwords, and of what is needed besides."`
	Ingress   IngressSettings  `description:"Where deployments answer."`
	Metrics   MetricsSettings  `description:"Prometheus metrics, on a port of their own."`
	Alerts    AlertSettings    `description:"What alerts fire at, and who watches the control plane."`
	Backup    BackupSettings   `description:"Backups of the database, at regular times."`
	Log       LogSettings      `description:"Logging to standard error."`
	Audit     AuditSettings    `description:"The journal of who did what."`
	Removed   RemovedSettings  `description:"Deployments that are gone."`
	Mail      MailSettings     `description:"The server that notifications are mailed by."`
	Agent     AgentSettings    `description:"The agent on a node."`
	Dev       DevSettings      `description:"Everything on one machine."`

	// tracing is no setting of ours: the standard variables OTEL_* say it. Nil is off.
	tracing *tracing.Tracing
	// logs is the log of this process.
	logs *logs.Log
}

// DatabaseSettings is where all state is stored.
type DatabaseSettings struct {
	URL      string `description:"Connection URL, postgres://… or a key=value string."`
	Role     string `description:"Role that runs the control plane, if migrations run as another."`
	Passfile string `description:"Passfile with that role's password: migrations create it."`
	Migrate  string `description:"auto: at each start; off: 'nullops migrate up' does it."`
}

// MasterSettings are the keys that seal secrets. There is no default.
type MasterSettings struct {
	Keys string `description:"Sealing keys, newest first: id:base64,id:base64 (32 bytes each)."`
	File string `description:"File that holds the same, instead."`
	// Primary is for moving from one to another: both are set then.
	Primary string `description:"Key for new values: transit, kv, local; auto: the first one set."`
}

// HTTPSettings is where people and programs talk to the control plane.
type HTTPSettings struct {
	Listen      string `description:"Address of API and UI."`
	URL         string `description:"How people reach it; decides cookie and links."`
	TLS         string `description:"auto: if http.url is https and not on localhost; on; off."`
	Certificate string `description:"File of the certificate; empty makes a self-signed one."`
	Key         string `description:"File of its private key."`
	Order       bool   `description:"Order it, as the environment in its domain orders its own."`
	Data        string `description:"Folder that keeps the self-signed certificate."`
	Proxies     string `description:"Proxies whose X-Forwarded-For is believed: 10.0.0.0/8,::1."`
	Connections int    `description:"Most connections at once; one network gets an eighth."`
	Internal    string `description:"URL or host:port where replicas and the ingress reach it."`
	AgentImage  string `description:"Image in lines that add nodes; empty: nullops/agent:VERSION."`
}

// OIDCSettings is off while Issuer is empty.
type OIDCSettings struct {
	Issuer string `description:"The provider's issuer URL; its description is read from there."`
	Client string `description:"Client id; the redirect address is http.url and /oidc/callback."`
	Secret string `description:"Client secret."`
	File   string `description:"File that holds the client secret, instead."`
	Name   string `description:"What the button says."`
	Scopes string `description:"Scopes besides openid, with spaces between."`
	Claim  string `description:"Claim that holds a person's groups; dots lead into nested claims."`
	Teams  string `description:"Which groups are which teams: group=team,group=team."`
	Admins string `description:"Group whose members are admins; empty leaves roles alone."`
	// Separator is not trimmed: one space is a separator too.
	Separator string `description:"Splits a group claim that is one string; empty is one group."`
}

// PasswordSettings are rules of new passwords besides those that are built in, and who needs more
// than a password.
type PasswordSettings struct {
	Breached string `description:"File of breached passwords: sorted SHA-1, as of haveibeenpwned."`
	// SecondFactor concerns people who sign in with a password here, not with a provider.
	SecondFactor string `description:"Who needs a second factor: admins, everyone; empty: teams say."`
}

// IngressSettings is where testers open deployments.
type IngressSettings struct {
	Listen string `description:"Address deployments answer on."`
	Secure string `description:"Address they answer on over HTTPS, such as :443; empty is off."`
	URL    string `description:"Scheme and port people see, such as http://localhost:8081."`
	Shared bool   `description:"Let the UI share a domain with an environment; cookies may cross."`
	State  string `description:"File that keeps the last good routing table."`
	// Keys make the ingress a process that holds no master key. The control plane needs them too.
	Keys string `description:"Sealing keys of the ingress alone, newest first, as master.keys."`
	File string `description:"File that holds the same, instead."`
	Role string `description:"Database role of the ingress, which migrations grant what it needs."`
	// Passfile is libpq's: host:port:database:role:password.
	Passfile string `description:"Passfile with that role's password: migrations create it."`
	// Proxies are in front of the ingress, such as a load balancer with the certificate.
	Proxies string `description:"Proxies whose X-Forwarded-For and -Proto are believed."`
	// Build names services, tags and digests in every response.
	Build bool `description:"Send Nullops-Build: web=1.4.2@51d0e7b with each response."`
	// Unreserved services answer below /.nullops/ themselves.
	Unreserved string `description:"Services that own /.nullops/ themselves: web,shop/admin."`
	// Sockets is the same folder as agent.sockets of agents on this machine.
	Sockets string `description:"Folder where agents on this machine have sockets; empty is off."`
}

// MetricsSettings is off while Listen is empty. An agent has /metrics only.
type MetricsSettings struct {
	Listen string `description:"Address of /metrics, /healthz and /readyz; empty is off."`
}

func (m MetricsSettings) check() error {
	if m.Listen == "" {
		return nil
	}
	return checkAddress("metrics.listen", m.Listen)
}

// LogSettings chooses how loud and in what form.
type LogSettings struct {
	Level  string `description:"debug, info, warn or error."`
	Format string `description:"json, text, or auto: text for a terminal."`
}

// AuditSettings is how long the audit is kept.
type AuditSettings struct {
	Keep int `description:"Days that entries are kept; 0 keeps them for ever."`
}

// MailSettings is off while Server is empty.
type MailSettings struct {
	Server   string `description:"SMTP server, host:port; empty sends no mail. 465 is TLS."`
	From     string `description:"Sender, such as NullOps <nullops@example.org>."`
	Username string `description:"Name to sign in with; empty does not sign in."`
	Password string `description:"Password to sign in with."`
}

// RemovedSettings is how long removed deployments can be inspected and recreated.
type RemovedSettings struct {
	Keep int `description:"Days that what was removed is kept with its logs; 0 is for ever."`
}

// DevSettings is used by 'nullops dev' only.
type DevSettings struct {
	Data     string `description:"Folder for the database, keys and logs; never deleted."`
	Postgres string `description:"Folder of the PostgreSQL server binaries."`
	Restore  string `description:"A backup to begin with. The database there was is put aside."`
}

// defaultSettings returns the default of each setting.
func defaultSettings() Settings {
	return Settings{
		Database: DatabaseSettings{Migrate: "auto"},
		Master:   MasterSettings{Primary: "auto"},
		Vault:    defaultVault(),
		HTTP: HTTPSettings{Listen: "127.0.0.1:8080", TLS: "auto", Data: ".nullops",
			Connections: 8192},
		OIDC:    OIDCSettings{Name: "Single sign-on", Scopes: "profile email groups", Claim: "groups"},
		Ingress: IngressSettings{Listen: "127.0.0.1:8081"},
		Log:     LogSettings{Level: "info", Format: "auto"},
		Removed: RemovedSettings{Keep: 30},
		Alerts:  AlertSettings{Queue: 10, Backup: 48},
		Backup:  BackupSettings{Every: 24, Keep: 14, S3: S3Settings{Region: "us-east-1"}},
		Agent: AgentSettings{Listen: ":5000", Data: "/data", Run: "/run/nullops",
			Runtime: runtimeDocker, Kubernetes: KubernetesSettings{Prefix: "nullops",
				VolumeSize: "10Gi", GPU: "nvidia.com/gpu"},
			Subnets: "10.213.0.0/16", Guard: true, Probe: "10m", Grace: "10s",
			Floor: "10%", Sandboxes: defaultSandboxes(), Starting: StartSettings{CPU: 2},
			Mails:  defaultMails(),
			Offers: defaultOffers()},
		Dev: DevSettings{Data: ".nullops", Postgres: "/usr/lib/postgresql/15/bin"},
	}
}

// loadSettings reads file, environment and flags, in the order of their
// weight. The file is named by --config or NULLOPS_CONFIG.
func loadSettings(args, environ []string) (Settings, error) {
	s := defaultSettings()
	path, args := takeConfigFlag(args, environ)
	if path != "" {
		if err := readConfig(path, &s); err != nil {
			return s, err
		}
	}
	if err := env.Decode(settingsEnv(environ), envPrefix, &s); err != nil {
		return s, fmt.Errorf("environment: %w; names are %s<SETTING>, see 'nullops settings'",
			err, envPrefix)
	}
	if err := flag.Decode(args, &s); err != nil {
		return s, fmt.Errorf("flags: %w; see 'nullops settings'", err)
	}
	return s, s.fillDerived()
}

// takeConfigFlag finds the file's name, and returns the other arguments.
func takeConfigFlag(args, environ []string) (path string, rest []string) {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, envPrefix+"CONFIG="); ok {
			path = v
		}
	}
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			path = v
			continue
		}
		rest = append(rest, a)
	}
	return path, rest
}

// settingsEnv keeps the variables that are settings, and translates the standard
// names. Other variables of ours are for the command line (NULLOPS_CONTEXT…) or for
// tests.
func settingsEnv(environ []string) []string {
	var kept []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "DATABASE_URL":
			kept = append([]string{envPrefix + "DATABASE_URL=" + value}, kept...)
		case slices.Contains(agentVariables(), name):
			kept = append([]string{envPrefix + name + "=" + value}, kept...)
		case name == envPrefix+"CONFIG", strings.HasPrefix(name, envPrefix+"TEST_"),
			strings.HasPrefix(name, envPrefix+"CLI_"), name == envPrefix+"FAILPOINT":
		case strings.HasPrefix(name, envPrefix):
			kept = append(kept, e)
		}
	}
	return kept
}

// fillDerived fills in what follows from other settings.
func (s *Settings) fillDerived() error {
	if s.HTTP.URL == "" {
		s.HTTP.URL = urlOf(s.HTTP.Listen)
		beyond := s.HTTP.TLS == "auto" && !loopbackListen(s.HTTP.Listen)
		if s.HTTP.TLS == "on" || s.HTTP.Certificate != "" || beyond {
			s.HTTP.URL = "https" + strings.TrimPrefix(s.HTTP.URL, "http")
		}
	}
	if s.Ingress.URL == "" {
		s.Ingress.URL = urlOf(s.Ingress.Listen)
	}
	return s.readSecretFiles()
}

// readSecretFiles fills in the secrets that are files: variables and flags are seen by others.
func (s *Settings) readSecretFiles() error {
	return errors.Join(
		readSecretFile("master.file", s.Master.File, &s.Master.Keys),
		readSecretFile("ingress.file", s.Ingress.File, &s.Ingress.Keys),
		readSecretFile("oidc.file", s.OIDC.File, &s.OIDC.Secret),
		readSecretFile("backup.s3.file", s.Backup.S3.File, &s.Backup.S3.Secret))
}

// readSecretFile reads a secret from a file unless it is set.
func readSecretFile(name, file string, secret *string) error {
	if *secret != "" || file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	*secret = strings.TrimSpace(string(text))
	return nil
}

// urlOf guesses how people reach an address: a wildcard is localhost.
func urlOf(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "http://" + listen
	}
	ip, err := netip.ParseAddr(host)
	if host == "" || err == nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// checkControlPlane refuses to start with a setting that cannot work.
func (s Settings) checkControlPlane() error {
	return errors.Join(
		checkRequired("database.url", s.Database.URL, "a PostgreSQL connection URL"),
		oneOf("database.migrate", s.Database.Migrate, "auto", "off"),
		s.checkKeys(),
		s.HTTP.check(), s.OIDC.check(),
		absoluteURL("ingress.url", s.Ingress.URL),
		checkDays("audit.keep", s.Audit.Keep), checkDays("removed.keep", s.Removed.Keep),
		s.checkCommon(),
	)
}

// checkDays refuses what would cut off tomorrow, or overflow.
func checkDays(name string, n int) error {
	if n < 0 || n > 36500 {
		return fmt.Errorf("setting %s: %d is not a number of days from 0 to 36500", name, n)
	}
	return nil
}

func (s Settings) checkIngress() error {
	var keys error
	if s.Ingress.Keys == "" {
		keys = s.checkKeys()
	}
	return errors.Join(
		checkRequired("database.url", s.Database.URL, "a PostgreSQL connection URL"), keys,
		checkAddress("ingress.listen", s.Ingress.Listen),
		absoluteURL("ingress.url", s.Ingress.URL),
		s.checkCommon(),
	)
}

func (s Settings) checkAgent() error {
	return errors.Join(
		s.Metrics.check(),
		s.checkToken(),
		s.checkDoctor(),
	)
}

// checkDoctor is what an agent needs that is not yet enrolled.
func (s Settings) checkDoctor() error {
	_, err := netip.ParsePrefix(s.Agent.Subnets)
	if err != nil {
		err = fmt.Errorf("setting agent.subnets: %q is not an address range; write one like %s",
			s.Agent.Subnets, defaultSettings().Agent.Subnets)
	}
	every, bad := time.ParseDuration(s.Agent.Probe)
	if bad != nil || every < 0 {
		bad = fmt.Errorf("setting agent.probe: %q is not a time; write one like %s, or 0s",
			s.Agent.Probe, defaultSettings().Agent.Probe)
	}
	_, unfit := s.stopGrace()
	return errors.Join(
		checkAddress("agent.listen", s.Agent.Listen), s.Agent.checkWebsocket(), s.Agent.checkConnect(),
		absolutePath("agent.data", s.Agent.Data),
		absolutePath("agent.run", s.Agent.Run),
		optionalPath("agent.sockets", s.Agent.Sockets), s.Agent.checkIngress(),
		s.Agent.checkRuntime(), err, bad, unfit, s.Agent.Offers.check(), s.Agent.Sandboxes.check(),
		s.Agent.Starting.check(), s.Agent.Mails.check(), s.checkCommon(),
	)
}

// probeEvery is agent.probe as the agent takes it: never is negative.
func (s Settings) probeEvery() time.Duration {
	every, err := time.ParseDuration(s.Agent.Probe)
	if err != nil || every == 0 {
		return -1
	}
	return every
}

func (s Settings) checkCommon() error {
	var errs []error
	errs = append(errs, s.Metrics.check(), s.Alerts.check(), s.Backup.check())
	if s.Ingress.Secure != "" {
		errs = append(errs, checkAddress("ingress.secure", s.Ingress.Secure))
	}
	_, err := parseProxies("ingress.proxies", s.Ingress.Proxies)
	errs = append(errs, err, optionalPath("ingress.sockets", s.Ingress.Sockets),
		oneOf("log.level", s.Log.Level, "debug", "info", "warn", "error"),
		oneOf("log.format", s.Log.Format, "auto", "json", "text"))
	return errors.Join(errs...)
}

func checkRequired(name, value, remedy string) error {
	if value == "" {
		return fmt.Errorf("setting %s is missing: give %s, as --%s or %s", name, remedy, name,
			envName(name))
	}
	return nil
}

func checkAddress(name, value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("setting %s: %q is not host:port; write one like 127.0.0.1:8080",
			name, value)
	}
	return nil
}

func absoluteURL(name, value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("setting %s: %q is not a URL; write one like https://qa.example.org",
			name, value)
	}
	return nil
}

func absolutePath(name, value string) error {
	if !filepath.IsAbs(value) {
		return fmt.Errorf("setting %s: %q is not an absolute path", name, value)
	}
	return nil
}

func optionalPath(name, value string) error {
	if value == "" {
		return nil
	}
	return absolutePath(name, value)
}

func oneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("setting %s: %q is not one of %s", name, value, strings.Join(allowed, ", "))
}

func envName(setting string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
}

// hostname is the name people reach the UI by.
func (h HTTPSettings) hostname() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return "" // absoluteURL reports it
	}
	return u.Hostname()
}

// isLoopback reports whether people reach the control plane on this machine
// only: then nodes may be on it too.
func (h HTTPSettings) isLoopback() bool { return isLoopbackURL(h.URL) }
