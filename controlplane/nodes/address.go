package nodes

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/nullops/nullops/controlplane"
)

// checkWay decides how a node is reached: at its address, or not at all if its agent dials.
func (s *Nodes) checkWay(
	connect controlplane.NodeConnect, address string,
) (controlplane.NodeConnect, string, error) {
	switch {
	case connect == "" || connect == controlplane.ConnectControlPlane:
		address, err := s.checkAddress(address)
		return controlplane.ConnectControlPlane, address, err
	case connect != controlplane.ConnectAgent:
		return "", "", controlplane.NewInvalidError("connect", "connect_invalid",
			fmt.Sprintf("%q is neither control-plane nor agent", controlplane.ClipText(string(connect))),
			"Choose agent for a machine that the control plane cannot reach.")
	case address != "":
		return "", "", controlplane.NewInvalidError("address", "address_unused",
			"a node whose agent connects has no address",
			"Leave the address out, or set connect to control-plane.")
	}
	return connect, "", nil
}

// checkAddress reads host:port, or the URL of a WebSocket with a path if need be.
func (s *Nodes) checkAddress(address string) (string, error) {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, "://") {
		return s.checkHostPort(address)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Opaque != "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(address, "?#") {
		return "", badAddress(hidePassword(u), "it is not the URL of a WebSocket")
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"ws": "80", "wss": "443"}[u.Scheme])
	}
	if u.Host, err = s.checkHostPort(u.Host); err != nil {
		return "", err
	}
	return u.String(), nil
}

// hidePassword keeps what was typed into the wrong place out of an error.
func hidePassword(u *url.URL) string {
	if u == nil {
		return "this text"
	}
	return u.Redacted()
}

// checkHostPort reads host:port and refuses places where no agent can be. Names
// are looked at again when they are dialed: see AllowedNodeAddress.
func (s *Nodes) checkHostPort(address string) (string, error) {
	host, port, err := net.SplitHostPort(strings.ToLower(strings.TrimSpace(address)))
	if err != nil {
		return "", badAddress(address, "it is not host:port")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", badAddress(address, "its port is not 1 to 65535")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return net.JoinHostPort(ip.Unmap().String(), strconv.FormatUint(n, 10)),
			s.checkAllowed(netip.AddrPortFrom(ip.Unmap(), uint16(n)))
	}
	if !controlplane.IsDomain(host) || isNumericHost(host) {
		return "", badAddress(address, "its host is neither a name nor an address")
	}
	if (host == "localhost" || strings.HasSuffix(host, ".localhost")) && !s.allowLoopback {
		return "", badAddress(address, "it is this machine itself")
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// isNumericHost finds other spellings of addresses, which the system's resolver
// would read: 2130706433, 127.1, 0x7f.1.
func isNumericHost(host string) bool {
	last := host[strings.LastIndex(host, ".")+1:]
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
}

// AllowedNodeAddress refuses addresses that no node may have. The fleet asks
// again after it resolved a name, so that a name cannot change its mind.
func (s *Nodes) AllowedNodeAddress(ap netip.AddrPort) error {
	return s.checkAllowed(netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()))
}

func (s *Nodes) checkAllowed(ap netip.AddrPort) error {
	off := controlplane.OffLimits{Own: s.deny, Loopback: s.allowLoopback}
	if err := off.Check(ap); err != nil {
		return badAddress(ap.String(), err.Error())
	}
	return nil
}

func badAddress(address, why string) error {
	return controlplane.NewInvalidError("address", "address_invalid",
		fmt.Sprintf("%q cannot be a node's address: %s", controlplane.ClipText(address), why),
		"Give host:port where the agent listens, such as 10.20.4.14:5000, or the URL of a "+
			"WebSocket that leads there, such as wss://proxy.example.org/node-7.")
}
