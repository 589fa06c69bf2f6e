package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/cmd/nullops/internal/pin"
)

// ProvisioningSettings is how a machine becomes a node by itself.
type ProvisioningSettings struct {
	Token string `description:"From 'node token create'; AGENT_PROVISIONING_TOKEN works too."`
}

// agentVariables are the settings of a machine's installation line that have a short name too,
// without NULLOPS_ in front.
func agentVariables() []string {
	return []string{"AGENT_TOKEN", "AGENT_PROVISIONING_TOKEN", "AGENT_CONTROL", "AGENT_CONNECT",
		"AGENT_ADDRESS", "AGENT_FINGERPRINT"}
}

// enrolsItself reports whether the agent has to ask the control plane for its token.
func (s Settings) enrolsItself() bool {
	return s.Agent.Token == "" && s.Agent.Provisioning.Token != "" && !agent.IsEnrolled(s.Agent.Data)
}

// checkToken requires a token on the first start only: the agent stores a key made from it.
func (s Settings) checkToken() error {
	if s.enrolsItself() {
		return s.Agent.checkEnrolment()
	}
	if agent.IsEnrolled(s.Agent.Data) {
		return nil
	}
	return checkRequired("agent.token", s.Agent.Token, "the token that 'add node' showed, or "+
		"agent.control and agent.provisioning.token")
}

// errOtherControl fails a connection to a control plane whose certificate is not the given one.
var errOtherControl = errors.New("the control plane shows another certificate than " +
	"agent.fingerprint")

// checkEnrolment refuses what would send the provisioning token to others.
func (a AgentSettings) checkEnrolment() error {
	err := checkRequired("agent.control", a.Control, "the URL of the control plane")
	if err == nil {
		err = absoluteURL("agent.control", a.Control)
	}
	if err != nil {
		return err
	}
	if !strings.HasPrefix(a.Control, "https://") && !isLoopbackURL(a.Control) {
		return fmt.Errorf("setting agent.control: %s is plain HTTP, which would show the provisioning "+
			"token to the network; write https://", a.Control)
	}
	_, err = a.controlTLS()
	return err
}

func isLoopbackURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// controlTLS is how the agent knows the control plane: by exactly one certificate, by an authority
// of the installation besides those of the machine, or by these alone.
func (a AgentSettings) controlTLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case a.Fingerprint != "" && a.CA != "":
		return nil, errors.New("settings agent.ca and agent.fingerprint: give one of them")
	case a.Fingerprint != "" && !pin.IsFingerprint(a.Fingerprint):
		return nil, errors.New("setting agent.fingerprint: write sha256: and 64 hexadecimal digits, " +
			"as the control plane logs it at its start")
	case a.Fingerprint != "":
		return pin.NewTLSConfig(a.Fingerprint, errOtherControl), nil
	case a.CA != "":
		roots, err := a.authorities()
		if err != nil {
			return nil, err
		}
		config.RootCAs = roots
	}
	return config, nil
}

// authorities returns those of the system and of the file.
func (a AgentSettings) authorities() (*x509.CertPool, error) {
	text, err := os.ReadFile(a.CA)
	if err != nil {
		return nil, fmt.Errorf("setting agent.ca: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a minimal image has none
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("setting agent.ca: %s holds no certificate in PEM", a.CA)
	}
	return roots, nil
}
