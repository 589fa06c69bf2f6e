package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
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

// loadH2 lets h2load ask. The first try may come before the ingress has the certificate.
func loadH2(ctx context.Context, c contestant) (perSecond, requests float64, err error) {
	var out string
	err = c.server.await(ctx, func(ctx context.Context) error {
		out, err = runCommand(ctx, nil, "h2load", "-t", threads, "-c", strconv.Itoa(connections),
			"-m", streams, "-D", loadFor, "--connect-to", c.secure,
			"https://"+trafficHost+":"+portOf(c.secure)+body)
		if err == nil && !strings.Contains(out, " 0 failed, 0 errored") {
			err = fmt.Errorf("%s failed under load:\n%s", c.key, out)
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	if !strings.Contains(out, "Application protocol: h2") {
		return 0, 0, fmt.Errorf("%s does not speak HTTP/2:\n%s", c.key, out)
	}
	perSecond, err = strconv.ParseFloat(firstMatch(out, `([\d.]+) req/s`), 64)
	if err == nil {
		requests, err = strconv.ParseFloat(firstMatch(out, `(\d+) succeeded`), 64)
	}
	if err != nil {
		err = fmt.Errorf("read h2load's answer: %w:\n%s", err, out)
	}
	return perSecond, requests, err
}
