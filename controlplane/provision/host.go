package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/nodes"
)

// handshakeWithin bounds the time from connecting to being signed in. sshd allows two
// minutes; that is too long for a page that waits.
const handshakeWithin = 30 * time.Second

// hostKeyFamilies are kinds of host keys, best first. A host has several keys, and shows
// the first kind of these that it has.
func hostKeyFamilies() [][]string {
	return [][]string{
		{ssh.KeyAlgoED25519},
		{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521},
		{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256},
	}
}

// HostKey is what a host shows before anybody trusts it.
type HostKey struct {
	Kind        string
	Fingerprint string
}

// Connect reaches a host by TCP. It refuses addresses that no node may have, after
// names were resolved.
type Connect func(ctx context.Context, network, address string) (net.Conn, error)

// errSeen ends a handshake that was only to see the key.
var errSeen = errors.New("the host key was seen")

// ReadHostKey asks a host for its key, for a person to compare. Nothing but the
// greeting is sent.
func ReadHostKey(
	ctx context.Context, connect Connect, host nodes.SSHHost,
) (key HostKey, err error) {
	config := &ssh.ClientConfig{User: "nullops", Timeout: handshakeWithin,
		HostKeyAlgorithms: slices.Concat(hostKeyFamilies()...),
		HostKeyCallback: func(_ string, _ net.Addr, shown ssh.PublicKey) error {
			key = HostKey{Kind: shown.Type(), Fingerprint: ssh.FingerprintSHA256(shown)}
			return errSeen
		}}
	address := joinHostPort(host)
	client, err := dialSSH(ctx, connect, address, config)
	if err == nil {
		_ = client.Close() // cannot be: the callback never agrees
	}
	if key.Fingerprint != "" {
		return key, nil
	}
	return key, dialFault(address, err)
}

func joinHostPort(
	h nodes.SSHHost,
) string {
	return net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
}

// signIn connects to a host that shows the confirmed key, and to no other.
func signIn(
	ctx context.Context, connect Connect, where controlplane.NodeSSH, c nodes.SSHCredential,
) (*ssh.Client, error) {
	methods, err := authMethods(c)
	if err != nil {
		return nil, err
	}
	address := joinHostPort(nodes.SSHHost{Host: where.Host, Port: where.Port})
	var other *hostKeyMismatch
	for _, family := range hostKeyFamilies() {
		client, err := dialSSH(ctx, connect, address, &ssh.ClientConfig{User: where.User,
			Auth: methods, Timeout: handshakeWithin, HostKeyAlgorithms: family,
			HostKeyCallback: pinHostKey(where.HostKey)})
		var wrong *hostKeyMismatch
		switch {
		case err == nil:
			return client, nil
		case errors.As(err, &wrong):
			// It may have the confirmed key too, of another kind.
			if other == nil {
				other = wrong
			}
		case !strings.Contains(err.Error(), "no common algorithm for host key"):
			return nil, dialFault(address, err)
		}
	}
	if other == nil {
		return nil, newFault("host_key_mismatch", "the host has no key of a kind that is known here",
			"Give it an Ed25519 key.", nil)
	}
	return nil, dialFault(address, other)
}

func pinHostKey(want string) ssh.HostKeyCallback {
	return func(_ string, _ net.Addr, shown ssh.PublicKey) error {
		if got := ssh.FingerprintSHA256(shown); got != want {
			return &hostKeyMismatch{want: want, got: got}
		}
		return nil
	}
}

// dialSSH is ssh.Dial with our way to connect, and bounded as a whole.
func dialSSH(
	ctx context.Context, connect Connect, address string, config *ssh.ClientConfig,
) (*ssh.Client, error) {
	conn, err := connect(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	if err := conn.SetDeadline(time.Now().Add(config.Timeout)); err != nil {
		return nil, errors.Join(fmt.Errorf("bound the handshake: %w", err), conn.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // wakes the handshake
	defer stop()
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		_ = conn.Close() // the handshake's error says more
		return nil, err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, errors.Join(fmt.Errorf("end the handshake: %w", err), c.Close())
	}
	return ssh.NewClient(c, channels, requests), nil
}

func authMethods(c nodes.SSHCredential) ([]ssh.AuthMethod, error) {
	if password := c.Password; !password.IsEmpty() {
		// Where PAM asks, the password is the answer to its one hidden question.
		return []ssh.AuthMethod{ssh.Password(password.Reveal()), ssh.KeyboardInteractive(
			func(_, _ string, questions []string, echo []bool) ([]string, error) {
				answers := make([]string, len(questions))
				for i := range questions {
					if !echo[i] {
						answers[i] = password.Reveal()
					}
				}
				return answers, nil
			})}, nil
	}
	key, passphrase := []byte(c.PrivateKey.Reveal()), []byte(c.Passphrase.Reveal())
	defer clear(key)
	var signer ssh.Signer
	var err error
	if len(passphrase) > 0 {
		signer, err = ssh.ParsePrivateKeyWithPassphrase(key, passphrase)
	} else {
		signer, err = ssh.ParsePrivateKey(key)
	}
	if err != nil {
		return nil, fmt.Errorf("read the private key: %w", err)
	}
	return []ssh.AuthMethod{ssh.PublicKeys(signer)}, nil
}
