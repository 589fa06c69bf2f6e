package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
)

const (
	trafficHost = "web.traffic.qa.localhost"
	// streams is how many requests each HTTP/2 connection has under way.
	streams = "4"
)

// pair is one certificate for all proxies: files, and both in one for HAProxy.
type pair struct{ chain, key, both string }

// trafficPair makes a certificate and gives it to the ingress.
func (l *lab) trafficPair(ctx context.Context) (p pair, err error) {
	chain, key, err := selfSigned(trafficHost)
	if err != nil {
		return p, err
	}
	p = pair{chain: filepath.Join(l.dir, "chain.pem"), key: filepath.Join(l.dir, "key.pem"),
		both: filepath.Join(l.dir, "both.pem")}
	if err := errors.Join(writeText(p.chain, chain), writeText(p.key, key),
		writeText(p.both, chain+key)); err != nil {
		return p, err
	}
	r, err := l.api.PutCertificateWithResponse(ctx, "traffic",
		apiclient.CertificatePut{Chain: chain, Key: &key})
	if err == nil && r.JSON200 == nil {
		err = fmt.Errorf("give the ingress a certificate: %s", r.Body)
	}
	return p, err
}

func selfSigned(host string) (chain, key string, err error) {
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), err
}

// loadH2 lets h2load ask. It reports percentiles only in its log, a line for
// each request. The first try may come before the ingress has the certificate.
func loadH2(ctx context.Context, dir string, c contestant) (l loaded, err error) {
	log := filepath.Join(dir, "h2load.log")
	defer func() { _ = os.Remove(log) }()
	var out string
	err = c.server.await(ctx, func(ctx context.Context) error {
		_ = os.Remove(log) // h2load would append
		out, err = runCommand(ctx, nil, "h2load", "-t", threads, "-c", connections, "-m", streams,
			"-D", strings.TrimSuffix(loadFor, "s"), "--log-file", log, "--connect-to", c.secure,
			"https://"+trafficHost+":"+portOf(c.secure)+body)
		if err == nil && !strings.Contains(out, " 0 failed, 0 errored") {
			err = fmt.Errorf("%s failed under load:\n%s", c.key, out)
		}
		return err
	})
	if err != nil {
		return l, err
	}
	if !strings.Contains(out, "Application protocol: h2") {
		return l, fmt.Errorf("%s does not speak HTTP/2:\n%s", c.key, out)
	}
	if l.perSecond, err = strconv.ParseFloat(firstMatch(out, `([\d.]+) req/s`), 64); err != nil {
		return l, fmt.Errorf("read h2load's answer: %w:\n%s", err, out)
	}
	l.p99, err = p99Of(log)
	return l, err
}

// p99Of reads h2load's log: start, status, microseconds until the end.
func p99Of(log string) (float64, error) {
	file, err := os.Open(log)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var took []int
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || fields[1] != "200" {
			return 0, fmt.Errorf("h2load's log has the line %q", lines.Text())
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil {
			return 0, fmt.Errorf("h2load's log: %w", err)
		}
		took = append(took, n)
	}
	if len(took) == 0 {
		return 0, errors.New("h2load's log is empty")
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100]) / 1000, nil
}
