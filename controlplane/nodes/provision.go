package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// SSHPut is an admin's SSH settings of a machine. One of Password and PrivateKey is
// needed.
type SSHPut struct {
	// Address is host or host:port; the port is 22 if none is given.
	Host string
	Port int
	User string
	// HostKey is the fingerprint that the admin saw and confirmed.
	HostKey    string
	Password   controlplane.Plain
	PrivateKey controlplane.Plain
	Passphrase controlplane.Plain
	Forget     bool
	Plan       controlplane.ProvisionPlan
}

// SSHCredential lets the control plane into a machine.
type SSHCredential struct {
	Password, PrivateKey, Passphrase controlplane.Plain
}

// sealedCredential is what is sealed of it.
type sealedCredential struct {
	Password   string `json:"password,omitempty"`
	PrivateKey string `json:"private_key,omitempty"`
	Passphrase string `json:"passphrase,omitempty"`
}

// ProvisionNode begins an attempt to make a node's machine ready over SSH. Without
// put it is reached as it was the last time.
func (s *Nodes) ProvisionNode(
	ctx context.Context, actor access.Actor, name string, put *SSHPut,
) (out controlplane.ProvisionAttempt, err error) {
	_, err = s.onNode(ctx, actor, "provision node", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			if err := checkProvisionable(ctx, tx, n); err != nil {
				return err
			}
			if err := s.ensureSSH(ctx, tx, n, put); err != nil {
				return err
			}
			if _, err := tx.Provisions().Insert(ctx, n.ID, actor.Name()); err != nil {
				return err
			}
			all, err := tx.Provisions().List(ctx, n.Name, 0, 1)
			if err == nil {
				out = all[0]
			}
			return err
		})
	return out, err
}

func checkProvisionable(ctx context.Context, tx *postgres.Tx, n controlplane.Node) error {
	if n.Connect == controlplane.ConnectAgent || strings.Contains(n.Address, "://") {
		return controlplane.NewConflictError("provision_needs_port",
			"only a node at host:port can be set up over SSH",
			"Run the line that 'nullops node rotate' prints on the machine.")
	}
	switch n.Status {
	case controlplane.NodeOnline:
		return controlplane.NewConflictError("node_online", "the node's agent is connected already",
			"Nothing needs to be done. To begin anew, stop the agent on the machine first.")
	case controlplane.NodeDisabled:
		return controlplane.NewConflictError(
			"node_disabled", "the node is disabled", "Enable the node first.")
	}
	latest, err := tx.Provisions().List(ctx, n.Name, 0, 1)
	if err == nil && len(latest) > 0 && !latest[0].State.IsTerminal() {
		return controlplane.NewConflictError("provision_running",
			fmt.Sprintf("attempt %d is at work on the node", latest[0].Number),
			"Wait until it has ended.")
	}
	return err
}

// ensureSSH stores the settings, or fails if none are stored and put is nil.
func (s *Nodes) ensureSSH(
	ctx context.Context, tx *postgres.Tx, n controlplane.Node, put *SSHPut,
) error {
	if put == nil {
		known, ok, err := tx.Provisions().GetSSH(ctx, n.ID)
		if err == nil && (!ok || known.Credential == nil) {
			return controlplane.NewConflictError(
				"no_credential", "the node's SSH credential is not known, or was forgotten",
				"Give host, user, host key, and a password or a private key.")
		}
		return err
	}
	checked, err := s.checkSSH(*put)
	if err != nil {
		return err
	}
	text, err := json.Marshal(sealedCredential{Password: put.Password.Reveal(),
		PrivateKey: put.PrivateKey.Reveal(), Passphrase: put.Passphrase.Reveal()})
	if err != nil {
		return fmt.Errorf("seal credential: %w", err)
	}
	defer clear(text)
	checked.Node = n.ID
	if checked.Credential, err = s.keys.SealSSH(n.ID, text); err != nil {
		return err
	}
	return tx.Provisions().PutSSH(ctx, checked)
}

var (
	userName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9._-]{0,63}$`)
	fingerprint = regexp.MustCompile(`^SHA256:[A-Za-z0-9+/]{43}$`)
	// plainPath needs no quoting anywhere: not in a shell, not in a unit file.
	plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*){1,16}$`)
)

// checkSSH fills in defaults and refuses what cannot be.
func (s *Nodes) checkSSH(p SSHPut) (out controlplane.NodeSSH, err error) {
	host, err := s.SSHAddress(p.Host, p.Port)
	if err != nil {
		return out, err
	}
	out = controlplane.NodeSSH{Host: host.Host, Port: host.Port, User: p.User,
		HostKey: strings.TrimRight(strings.TrimSpace(p.HostKey), "="), Forget: p.Forget,
		Plan: withDefaults(p.Plan)}
	switch {
	case !userName.MatchString(p.User):
		return out, controlplane.NewInvalidError("user", "user_invalid",
			controlplane.ClipText(p.User)+" is no name of a user of a machine",
			"Use letters, digits, - _ and dots.")
	case !fingerprint.MatchString(out.HostKey):
		return out, controlplane.NewInvalidError("host_key", "host_key_invalid",
			"the host key's fingerprint is missing or is not like SHA256:…",
			"Ask for the machine's host key, compare it, and send its fingerprint along.")
	}
	if err := checkCredential(p); err != nil {
		return out, err
	}
	return out, checkPlan(out.Plan)
}

// SSHHost is where a machine answers to SSH.
type SSHHost struct {
	Host string
	Port int
}

// SSHAddress reads host and port, and refuses places where no node can be. A port
// of 0 is 22.
func (s *Nodes) SSHAddress(host string, port int) (SSHHost, error) {
	if port == 0 {
		port = 22
	}
	host = strings.ToLower(strings.Trim(strings.TrimSpace(host), "[]"))
	out := SSHHost{Host: host, Port: port}
	if port < 1 || port > 65535 {
		return out, controlplane.NewInvalidError(
			"port", "port_invalid", "a port is 1 to 65535", "Correct the port.")
	}
	text := fmt.Sprintf("%s:%d", host, port)
	if strings.Contains(host, ":") {
		text = fmt.Sprintf("[%s]:%d", host, port)
	}
	_, err := s.checkAddress(text)
	if said := copyError(err); said != nil {
		said.Field, said.Code = "host", "host_invalid"
		said.Remedy = "Give the name or the address of the machine."
		return out, said
	}
	return out, err
}

// copyError returns a copy of an error for people, nil for other errors.
func copyError(err error) *controlplane.Error {
	if said, ok := err.(*controlplane.Error); ok { //nolint:errorlint // checkAddress wraps nothing
		copied := *said
		return &copied
	}
	return nil
}

func checkCredential(p SSHPut) error {
	if p.Password.IsEmpty() == p.PrivateKey.IsEmpty() {
		return controlplane.NewInvalidError("password", "credential_missing",
			"exactly one of a password and a private key is needed", "Give one of them.")
	}
	if p.PrivateKey.IsEmpty() {
		if len(p.Password.Reveal()) > 1024 || strings.ContainsAny(p.Password.Reveal(), "\r\n\x00") {
			return controlplane.NewInvalidError("password", "password_invalid",
				"a password has up to 1024 bytes and is one line", "Correct the password.")
		}
		return nil
	}
	key, passphrase := []byte(p.PrivateKey.Reveal()), []byte(p.Passphrase.Reveal())
	var err error
	if len(passphrase) > 0 {
		_, err = ssh.ParsePrivateKeyWithPassphrase(key, passphrase)
	} else {
		_, err = ssh.ParsePrivateKey(key)
	}
	if err == nil {
		return nil
	}
	field := "private_key"
	if _, missing := err.(*ssh.PassphraseMissingError); missing { //nolint:errorlint // as documented
		field = "passphrase"
	}
	// Its words are about the form, never about the content.
	return controlplane.NewInvalidError(
		field,
		"private_key_invalid",
		"the private key cannot be read: "+controlplane.ClipText(err.Error()),
		"Give an unencrypted private key in OpenSSH's or PEM form, or its passphrase too.",
	)
}

// withDefaults fills in the paths on a machine that were not set.
func withDefaults(p controlplane.ProvisionPlan) controlplane.ProvisionPlan {
	for field, value := range map[*string]string{
		&p.Directory: "/opt/nullops", &p.Data: "/var/lib/nullops", &p.Run: "/run/nullops",
		&p.Docker: "unix:///var/run/docker.sock",
	} {
		if *field == "" {
			*field = value
		}
	}
	return p
}

func checkPlan(p controlplane.ProvisionPlan) error {
	socket, unix := strings.CutPrefix(p.Docker, "unix://")
	if !unix {
		socket = ""
	}
	for _, one := range []struct{ field, value string }{
		{"directory", p.Directory}, {"data", p.Data}, {"run", p.Run}, {"docker", socket},
	} {
		if !plainPath.MatchString(one.value) || len(one.value) > 200 {
			return controlplane.NewInvalidError(
				one.field,
				"path_invalid",
				controlplane.ClipText(one.value)+" cannot be used as a path here",
				"Give an absolute path of letters, digits, - _ and dots; docker as unix:///PATH.",
			)
		}
	}
	if p.Subnets == "" {
		return nil
	}
	if _, err := netip.ParsePrefix(p.Subnets); err != nil {
		return controlplane.NewInvalidError("subnets", "subnets_invalid",
			controlplane.ClipText(p.Subnets)+" is no address range",
			"Write one like 10.213.0.0/16, or leave it out.")
	}
	return nil
}

// ListProvisions returns one page of a node's attempts, newest first.
func (s *Nodes) ListProvisions(
	ctx context.Context, actor access.Actor, name string, before, most int,
) (all []controlplane.ProvisionAttempt, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) error {
		if _, err := tx.Nodes().ByName(ctx, name); err != nil {
			return err
		}
		all, err = tx.Provisions().List(ctx, name, before, most)
		return err
	})
	return all, err
}

// GetProvision returns one attempt.
func (s *Nodes) GetProvision(
	ctx context.Context, actor access.Actor, name string, number int,
) (out controlplane.ProvisionAttempt, err error) {
	all, err := s.ListProvisions(ctx, actor, name, number+1, 1)
	if err != nil {
		return out, err
	}
	if len(all) == 0 || all[0].Number != number {
		return out, controlplane.NewNotFoundError("attempt", fmt.Sprint(number))
	}
	return all[0], nil
}

// ForgetSSH takes a node's credential away.
func (s *Nodes) ForgetSSH(ctx context.Context, actor access.Actor, name string) error {
	_, err := s.onNode(ctx, actor, "forget credential", name,
		func(tx *postgres.Tx, n controlplane.Node) error {
			_, err := tx.Provisions().DeleteSSH(ctx, n.ID)
			return err
		})
	return err
}
