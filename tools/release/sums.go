package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nullops/nullops/internal/signing"
)

func (r *release) publicKey() ed25519.PublicKey { return r.key.Public().(ed25519.PublicKey) }

const sumsName, signatureName = "checksums.txt", "checksums.txt.sig"

// writeSums writes the checksums of all files, as sha256sum checks them, and their signature, as
// openssl checks it.
func (r *release) writeSums(context.Context) error {
	sums, err := sumFiles(r.out)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, sumsName), []byte(sums), 0o644); err != nil {
		return err
	}
	if r.key == nil {
		fmt.Fprintln(os.Stderr, "release: not signed: give KEY=FILE, an ed25519 key in PEM")
		return nil
	}
	public, err := x509.MarshalPKIXPublicKey(r.publicKey())
	if err != nil {
		return err
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	if err := os.WriteFile(filepath.Join(r.out, "nullops-release.pub"), key, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, signatureName),
		ed25519.Sign(r.key, []byte(sums)), 0o644)
}

// sumFiles lists the SHA-256 of each file of a release, in the order of their names.
func sumFiles(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		if e.Name() == sumsName || e.Name() == signatureName || e.IsDir() {
			continue
		}
		f, err := os.Open(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", err
		}
		hash, err := signing.HashProgram(f)
		_ = f.Close()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s  %s\n", hash, e.Name())
	}
	return b.String(), nil
}
