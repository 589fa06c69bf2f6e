package server

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane/vault"
)

// VaultSettings is off while Address is empty. Tokens, secret ids and keys are in files
// only: settings can be read in process lists and by 'docker inspect'.
type VaultSettings struct {
	Address    string               `description:"Vault or OpenBao: https://vault.example.org:8200."`
	Namespace  string               `description:"Namespace; empty is the root."`
	CA         string               `description:"File of the authority that signed its certificate."`
	Token      VaultTokenSettings   `description:"Sign-in with a token."`
	AppRole    VaultRoleSettings    `description:"Sign-in with an AppRole."`
	Kubernetes VaultRoleSettings    `description:"Sign-in with a Kubernetes service account."`
	KV         VaultKVSettings      `description:"Sealing keys that are a value in a KV engine."`
	Transit    TransitSettings      `description:"A sealing key that never leaves Vault."`
	Secrets    VaultSecretsSettings `description:"Secrets of projects that are kept in Vault."`
}

// VaultSecretsSettings is off while Path is empty: then no project reads from Vault.
type VaultSecretsSettings struct {
	Path  string `description:"Path below which projects' secrets may be read, such as apps."`
	Mount string `description:"Path of the KV engine, which has version 2."`
}

// VaultTokenSettings signs in with a token.
type VaultTokenSettings struct {
	File string `description:"File that holds the token; it is read again when it is refused."`
}

// VaultRoleSettings signs in as a role.
type VaultRoleSettings struct {
	Role  string `description:"The AppRole's role id, or the name of the Kubernetes role."`
	File  string `description:"File that holds the secret id, or the service account's token."`
	Mount string `description:"Path of the auth method."`
}

// VaultKVSettings is off while Path is empty.
type VaultKVSettings struct {
	Path  string `description:"Path of the value in the engine, such as nullops."`
	Field string `description:"Field that holds the keys, written as in master.keys."`
	Mount string `description:"Path of the engine, which has version 2."`
}

// TransitSettings is off while Key is empty.
type TransitSettings struct {
	Key   string `description:"Name of the key, of type aes256-gcm96."`
	Mount string `description:"Path of the engine."`
	Cache string `description:"How long opened data keys stay in memory; 0s is never."`
}

func defaultVault() VaultSettings {
	return VaultSettings{
		AppRole: VaultRoleSettings{Mount: "approle"},
		Kubernetes: VaultRoleSettings{Mount: "kubernetes",
			File: "/var/run/secrets/kubernetes.io/serviceaccount/token"},
		KV:      VaultKVSettings{Field: "keys", Mount: "secret"},
		Transit: TransitSettings{Mount: "transit", Cache: "1h"},
		Secrets: VaultSecretsSettings{Mount: "secret"},
	}
}

// holdsKeys reports whether sealing keys are in Vault.
func (v VaultSettings) holdsKeys() bool { return v.KV.Path != "" || v.Transit.Key != "" }

// vaultName is one part of a path in Vault.
var vaultName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func checkVaultPath(name, value string) error {
	for part := range strings.SplitSeq(strings.Trim(value, "/"), "/") {
		if !vaultName.MatchString(part) {
			return fmt.Errorf("setting %s: %q is not a path in Vault; write one like apps/nullops, "+
				"of letters, digits and _ . -", name, value)
		}
	}
	return nil
}

// maxKeyCache bounds how long an opened data key may stay in memory.
const maxKeyCache = 24 * time.Hour

// keepFor is vault.transit.cache.
func (t TransitSettings) keepFor() (time.Duration, error) {
	keep, err := time.ParseDuration(t.Cache)
	if err != nil || keep < 0 || keep > maxKeyCache {
		return 0, fmt.Errorf("setting vault.transit.cache: %q is not a time from 0s to 24h; "+
			"write one like %s", t.Cache, defaultVault().Transit.Cache)
	}
	return keep, nil
}

func (v VaultSettings) check() error {
	if v.Address == "" {
		if v.holdsKeys() || v.Secrets.Path != "" || v.Token.File != "" || v.AppRole.Role != "" ||
			v.Kubernetes.Role != "" {
			return checkRequired("vault.address", "",
				"the URL of Vault, since other settings of vault are there")
		}
		return nil
	}
	errs := []error{v.checkAddress(), v.checkAuth()}
	_, err := v.Transit.keepFor()
	errs = append(errs, err, v.Secrets.check(v.KV),
		checkVaultPath("vault.transit.mount", v.Transit.Mount),
		checkVaultPath("vault.kv.mount", v.KV.Mount))
	if v.KV.Path != "" {
		errs = append(errs, checkVaultPath("vault.kv.path", v.KV.Path))
	}
	if v.Transit.Key != "" && !vaultName.MatchString(v.Transit.Key) {
		errs = append(errs, checkVaultPath("vault.transit.key", "/"+v.Transit.Key))
	}
	return errors.Join(errs...)
}

// check keeps the sealing keys out of the reach of projects' secrets.
func (v VaultSecretsSettings) check(keys VaultKVSettings) error {
	if v.Path == "" {
		return nil
	}
	err := errors.Join(checkVaultPath("vault.secrets.path", v.Path),
		checkVaultPath("vault.secrets.mount", v.Mount))
	root, kept := strings.Trim(v.Path, "/")+"/", strings.Trim(keys.Path, "/")+"/"
	if keys.Path != "" && strings.Trim(v.Mount, "/") == strings.Trim(keys.Mount, "/") &&
		strings.HasPrefix(kept, root) {
		err = errors.Join(err, fmt.Errorf("setting vault.secrets.path: projects would read the sealing "+
			"keys at %s; keep the two apart", keys.Path))
	}
	return err
}

// checkAddress refuses what would send tokens through a network in the clear.
func (v VaultSettings) checkAddress() error {
	u, err := url.Parse(v.Address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
		u.RawQuery != "" || u.Fragment != "" {
		return errors.New("setting vault.address is not a URL of Vault; " +
			"write one like https://vault.example.org:8200")
	}
	if u.User != nil {
		return errors.New("setting vault.address holds a name or password; leave them out, " +
			"and sign in with vault.approle, vault.kubernetes or vault.token")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme == "http" && !loopback {
		return fmt.Errorf("setting vault.address: %s is plain HTTP, which is for this machine only; "+
			"write https://, and name a private authority in vault.ca", v.Address)
	}
	return nil
}

// checkAuth requires exactly one way to sign in.
func (v VaultSettings) checkAuth() error {
	var ways []string
	var errs []error
	for name, value := range map[string]string{"vault.token.file": v.Token.File,
		"vault.approle.role": v.AppRole.Role, "vault.kubernetes.role": v.Kubernetes.Role} {
		if value != "" {
			ways = append(ways, name)
		}
	}
	if len(ways) != 1 {
		errs = append(errs, fmt.Errorf("settings vault: %d ways to sign in are set; set exactly one "+
			"of vault.approle.role, vault.kubernetes.role and vault.token.file", len(ways)))
	}
	if v.AppRole.Role != "" {
		errs = append(errs, checkRequired("vault.approle.file", v.AppRole.File,
			"the file that holds the secret id"), checkVaultPath("vault.approle.mount", v.AppRole.Mount))
	}
	if v.Kubernetes.Role != "" {
		errs = append(errs, checkRequired("vault.kubernetes.file", v.Kubernetes.File,
			"the file that holds the service account's token"),
			checkVaultPath("vault.kubernetes.mount", v.Kubernetes.Mount))
	}
	return errors.Join(errs...)
}

func (v VaultSettings) auth() vault.Auth {
	role := func(s VaultRoleSettings) *vault.RoleAuth {
		if s.Role == "" {
			return nil
		}
		return &vault.RoleAuth{Mount: s.Mount, Role: s.Role, File: s.File}
	}
	return vault.Auth{Token: v.Token.File, AppRole: role(v.AppRole), Kubernetes: role(v.Kubernetes)}
}

// checkKeys requires a sealing key, and that the one for new values is there.
func (s Settings) checkKeys() error {
	errs := []error{s.Vault.check(),
		oneOf("master.primary", s.Master.Primary, "auto", "local", "kv", "transit")}
	if s.Master.Keys == "" && !s.Vault.holdsKeys() {
		errs = append(errs, checkRequired("master.keys", "", "a sealing key; make one with "+
			"'nullops keys new' and keep it safe. Or keep it in Vault: vault.transit.key or vault.kv.path"))
	}
	for name, have := range map[string]string{"local": s.Master.Keys, "kv": s.Vault.KV.Path,
		"transit": s.Vault.Transit.Key} {
		if s.Master.Primary == name && have == "" {
			errs = append(errs, fmt.Errorf("setting master.primary is %s, and no such key is set: set "+
				"%s", name, map[string]string{"local": "master.keys", "kv": "vault.kv.path",
				"transit": "vault.transit.key"}[name]))
		}
	}
	return errors.Join(errs...)
}
