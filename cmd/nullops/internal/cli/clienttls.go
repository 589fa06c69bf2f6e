package cli

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/cmd/nullops/internal/pin"
)

// errOtherCertificate fails a connection to a control plane whose certificate is not
// the pinned one.
var errOtherCertificate = errors.New(
	"the control plane shows another certificate than the one you pinned; if somebody replaced " +
		"it, run 'nullops login' again and compare the new fingerprint")

// httpClient trusts the authorities of this machine or, with a pin, exactly
// that certificate and nothing else.
func (l login) httpClient() *http.Client {
	if l.Fingerprint == "" {
		return http.DefaultClient
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultClient
	}
	transport = transport.Clone()
	transport.TLSClientConfig = pin.NewTLSConfig(l.Fingerprint, errOtherCertificate)
	return &http.Client{Transport: transport}
}

// choosePin decides how to trust the server: an authority of this machine vouches
// for it, or its fingerprint is given, or a person compares it.
func choosePin(ctx context.Context, in io.Reader, address, given string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return "", err
	}
	if given != "" {
		given = strings.ToLower(given)
		if !pin.IsFingerprint(given) {
			return "", exit.AsUsageError(errors.New(
				"--fingerprint: write sha256: and 64 hexadecimal digits, as the control plane logs it"))
		}
		return given, nil
	}
	shown, trusted, err := lookAt(ctx, u)
	if err != nil || trusted {
		return "", err
	}
	return shown, confirmFingerprint(in, u.Host, shown)
}

// lookAt reads the server's certificate, and sends no credentials.
func lookAt(ctx context.Context, u *url.URL) (shown string, trusted bool, err error) {
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "443")
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	config := &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", host)
	if err == nil {
		return "", true, conn.Close()
	}
	var unknown *tls.CertificateVerificationError
	if !errors.As(err, &unknown) {
		return "", false, fmt.Errorf("ask the control plane: %w", err)
	}
	return pin.FormatFingerprint(unknown.UnverifiedCertificates[0].Raw), false, nil
}

// confirmFingerprint shows the fingerprint and waits for a person's word.
func confirmFingerprint(in io.Reader, host, shown string) error {
	fmt.Fprintf(os.Stderr,
		"No authority vouches for the certificate of %s. Its fingerprint is\n  %s\n", host, shown)
	if in != os.Stdin || !output.IsTerminal(os.Stdin) {
		return exit.WithCode(errors.New("compare it with the one the control plane logs at its start, "+
			"then add --fingerprint "+shown), exit.Forbidden)
	}
	fmt.Fprint(os.Stderr, "Is this the one the control plane logged at its start? Type yes: ")
	answer, err := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return exit.WithCode(errors.New("not signed in: the fingerprint was not confirmed"),
			exit.Forbidden)
	}
	return nil
}
