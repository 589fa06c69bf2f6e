package server

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each setting has a variable. Where the product that this was taken from has a file of data and
// a path of a script, ours has a database; the script is a part of the program.
func TestLoadSettings_FromTheEnvironment(t *testing.T) {
	s, err := loadSettings(nil, []string{"NULLOPS_HTTP_LISTEN=:3001", "NULLOPS_HTTP_DATA=/state",
		"NULLOPS_DATABASE_URL=postgres://db/nullops", "HOME=/root", "NULLOPS_CLI_X=of no setting"})
	// promise: Y-01, Y-02
	if err != nil || s.HTTP.Listen != ":3001" || s.HTTP.Data != "/state" ||
		s.Database.URL != "postgres://db/nullops" {
		t.Errorf("%v: read %+v, %+v", err, s.HTTP, s.Database)
	}
	s, err = loadSettings([]string{"--http.listen=:2"}, []string{"NULLOPS_HTTP_LISTEN=:3001"})
	if err != nil || s.HTTP.Listen != ":2" {
		t.Errorf("%v: a flag counts less than a variable: %+v", err, s.HTTP)
	}
	if _, err = loadSettings(nil, []string{"NULLOPS_HTPP_LISTEN=:3001"}); err == nil {
		t.Error("a variable that is no setting is accepted")
	}
	s, err = loadSettings(nil, nil)
	// promise: Y-01
	if err != nil || s.HTTP.Listen != "127.0.0.1:8080" {
		t.Errorf("%v: without settings it listens at %s", err, s.HTTP.Listen)
	}
}

// Of host:port, the scheme is what the process serves; a URL is taken as it is.
// The agent's image becomes part of a line for a shell.
func TestHTTPSettings_RefusesAnAgentImageThatIsNone(t *testing.T) {
	t.Parallel()
	for image, ok := range map[string]bool{"": true, "registry.test:5000/nullops/agent:1.0": true,
		"agent@sha256:ab": true, "agent;id": false, "$(id)": false, "a b": false} {
		h := HTTPSettings{Listen: "127.0.0.1:1", URL: "http://localhost:1", TLS: "auto",
			Connections: 16, AgentImage: image}
		if err := h.check(); (err == nil) != ok {
			t.Errorf("%q: %v", image, err)
		}
	}
}

func TestHTTPSettings_InternalURL(t *testing.T) {
	for _, c := range []struct{ url, tls, internal, want string }{
		{"https://a.example", "auto", "", "https://a.example"},
		{"https://a.example", "auto", "10.0.0.7:8080", "https://10.0.0.7:8080"},
		{"https://a.example", "off", "controlplane:8080", "http://controlplane:8080"},
		{"http://localhost:8080", "auto", "controlplane:8080", "http://controlplane:8080"},
		{"https://a.example", "auto", "https://b.example/below", "https://b.example/below"},
	} {
		h := HTTPSettings{URL: c.url, TLS: c.tls, Internal: c.internal, Listen: ":8080"}
		if got, err := h.internalURL(); err != nil || got.String() != c.want {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
	for _, bad := range []string{"ftp://b", "https://", "a b:1"} {
		h := defaultSettings().HTTP
		h.Internal = bad
		if err := h.check(); err == nil || !strings.Contains(err.Error(), "http.internal") {
			t.Errorf("http.internal %q: %v", bad, err)
		}
	}
}

// A secret is the text of its file, without the end of the line. An empty file is none, and a
// missing one is named.
func TestLoadSettings_ReadsSecretFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	for setting, read := range map[string]func(Settings) string{
		"master":    func(s Settings) string { return s.Master.Keys },
		"ingress":   func(s Settings) string { return s.Ingress.Keys },
		"oidc":      func(s Settings) string { return s.OIDC.Secret },
		"backup.s3": func(s Settings) string { return s.Backup.S3.Secret },
	} {
		environ := []string{"NULLOPS_" + strings.ToUpper(strings.ReplaceAll(setting, ".", "_")) +
			"_FILE=" + file}
		_ = os.Remove(file)
		if _, err := loadSettings(nil, environ); err == nil ||
			!strings.Contains(err.Error(), "setting "+setting+".file: ") {
			t.Errorf("%s: without the file it says %v", setting, err)
		}
		for text, want := range map[string]string{"": "", "a=b c\n": "a=b c"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := loadSettings(nil, environ)
			if err != nil || read(got) != want {
				t.Errorf("%s: %q became %q, %v", setting, text, read(got), err)
			}
		}
	}
}

// What deploy/compose.yaml passes on is each setting's default until somebody sets it.
func TestLoadSettings_ComposePassesDefaults(t *testing.T) {
	text, err := os.ReadFile("../../../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	passed := regexp.MustCompile(`(?m)^ +(NULLOPS_(\w+)): \$\{NULLOPS_(\w+):-(.*)\}$`)
	environ := []string{}
	for _, m := range passed.FindAllStringSubmatch(string(text), -1) {
		if m[2] != m[3] {
			t.Errorf("%s is set by NULLOPS_%s", m[1], m[3])
		}
		environ = append(environ, m[1]+"="+m[4])
	}
	got, err := loadSettings(nil, environ)
	want := defaultSettings()
	if err != nil || !slices.Contains(environ, "NULLOPS_MAIL_SERVER=") ||
		!slices.Contains(environ, "NULLOPS_OIDC_ISSUER=") {
		t.Fatalf("%v of %v", err, environ)
	}
	for name, same := range map[string]bool{"oidc": got.OIDC == want.OIDC,
		"mail": got.Mail == want.Mail, "removed": got.Removed == want.Removed,
		"audit": got.Audit == want.Audit, "backups": got.Backup.S3 == want.Backup.S3} {
		if !same {
			t.Errorf("%s is not as without compose.yaml: %+v", name, got)
		}
	}
}
