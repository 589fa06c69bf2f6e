package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// The exit codes that scripts rely on; they are listed in docs/reference/commands.md.
const (
	exitUsage     = 2
	exitRefused   = 3
	exitForbidden = 4
	exitNotReady  = 5
)

// terminal is one user's command line.
type terminal struct {
	p   *product
	env []string
}

// run runs a command and holds it to its exit code.
func (c *terminal) run(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	out, errs, got := runCommand(t, c.p.w.binary, c.env, "", args...)
	if got != code {
		t.Errorf("nullops %s: exit code %d, wanted %d\n%s%s", strings.Join(args, " "), got, code,
			out, errs)
	}
	return out, errs
}

// decode reads what a command printed with --json.
func (c *terminal) decode(t *testing.T, into any, code int, args ...string) {
	t.Helper()
	out, _ := c.run(t, code, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Errorf("nullops %s --json: %v: %s", strings.Join(args, " "), err, out)
	}
}

// commandLine does the daily work with the command line alone.
func commandLine(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := w.product()
	home := t.TempDir()
	c := &terminal{p: p, env: []string{"XDG_CONFIG_HOME=" + home}}
	c.run(t, exitForbidden, "list")
	_, _, code := runCommand(t, w.binary, c.env, "wrong password\n", "login", p.url,
		"--password-stdin")
	if code != exitForbidden {
		t.Errorf("login with a wrong password: exit code %d", code)
	}
	// With single sign-on there is no password, but a token made in the browser.
	if out, errs, code := runCommand(t, w.binary, c.env, p.admin.token+"\n", "login", p.url, "--token",
		"--password-stdin", "--context", "by-token"); code != 0 ||
		!strings.Contains(out, "as admin") {
		t.Errorf("login with a token: %d %s%s", code, out, errs)
	}
	c.browses(t)
	if out, _, code := runCommand(t, w.binary, c.env, "nonsense\n", "login", p.url, "--token",
		"--password-stdin", "--context", "by-token"); code == 0 {
		t.Errorf("login with a token that is none: %s", out)
	}
	if out, errs, code := runCommand(t, w.binary, c.env, p.password+"\n", "login", p.url, "--user",
		"admin",
		"--password-stdin"); code != 0 {
		t.Fatalf("login: %d %s%s", code, out, errs)
	}
	if info, err := os.Stat(filepath.Join(home, "nullops", "login.json")); err != nil ||
		info.Mode().Perm() != 0o600 {
		t.Errorf("the login is kept as %v, %v", info, err)
	}
	p.define(t, "cli", hostileStep("say", nil, object{"outputs": object{"a": "b"}}),
		webStep("web", "say"))
	p.define(t, "cli-fails", hostileStep("say", nil, object{"mode": "say-no"}))
	c.wrong(t)
	c.daily(t)
	var failed apiclient.Deployment
	c.decode(t, &failed, exitNotReady, "deploy", "cli-fails", "--env", "qa", "--name", "cli-fails")
	if failed.Status != apiclient.DeploymentStatusFailed {
		t.Errorf("a failed deployment is printed as %s", failed.Status)
	}
	out, _ := c.run(t, 0, "show", "cli-fails")
	if !strings.Contains(out, "the test plugin says no") {
		t.Errorf("show does not say why it failed:\n%s", out)
	}
	out, _ = c.run(t, exitNotReady, "retry", "cli-fails")
	if !strings.Contains(out, "failed") {
		t.Errorf("retry says:\n%s", out)
	}
	c.run(t, 0, "remove", "cli-fails")
}

// browses signs in by a browser: the code that the command shows is confirmed by a person who is
// signed in there. Signing out ends it, for copies of the token too.
func (c *terminal) browses(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	note := filepath.Join(bin, "opened")
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"),
		[]byte("#!/bin/sh\nprintf '%s|%s' \"$#\" \"$1\" > '"+note+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(slices.Clone(c.env), "PATH="+bin+":/usr/bin:/bin", "WAYLAND_DISPLAY=")
	for _, display := range []string{"", ":0"} {
		out, code := c.confirmSignIn(t, append(env, "DISPLAY="+display), http.MethodPost)
		if code != 0 || !strings.Contains(out, "as admin") ||
			!strings.Contains(out, "in a file that only you can read: /") {
			t.Errorf("login by browser: %d %s", code, out)
		}
		opened, _ := os.ReadFile(note) // without a display there is none
		if display == "" && len(opened) > 0 || display != "" &&
			!strings.HasPrefix(string(opened), "1|"+c.p.url+"/device?code=") {
			t.Errorf("with display %q it opened %q", display, opened)
		}
	}
	if out, code := c.confirmSignIn(t, env, http.MethodDelete); code != exitForbidden ||
		!strings.Contains(out, "denied in the browser") {
		t.Errorf("denied: %d %s", code, out)
	}
	by := append(slices.Clone(c.env), "NULLOPS_CLI_CONTEXT=by-browser")
	stored, err := os.ReadFile(filepath.Join(strings.TrimPrefix(c.env[0], "XDG_CONFIG_HOME="),
		"nullops", "login.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{0, exitRefused} {
		if out, errs, code := runCommand(t, c.p.w.binary, by, "", "list"); code != want {
			t.Errorf("list: %d %s%s", code, out, errs)
		}
		if want == 0 {
			if out, errs, code := runCommand(t, c.p.w.binary, c.env, "", "logout",
				"by-browser"); code != 0 || !strings.Contains(out, "Signed out of") {
				t.Errorf("logout: %d %s%s", code, out, errs)
			}
		}
	}
	copied := append(slices.Clone(c.env), "XDG_CONFIG_HOME="+t.TempDir())
	home := strings.TrimPrefix(copied[len(copied)-1], "XDG_CONFIG_HOME=")
	if err := os.MkdirAll(filepath.Join(home, "nullops"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "nullops", "login.json"), stored, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := runCommand(t, c.p.w.binary, append(copied,
		"NULLOPS_CLI_CONTEXT=by-browser"), "", "list"); code != exitForbidden {
		t.Errorf("a copy of the token after logout: %d %s%s", code, out, errs)
	}
}

var shownCode = regexp.MustCompile(`confirm the code ([A-Z]{4}-[A-Z]{4})`)

// confirmSignIn runs the login, and answers the code that it shows in a session of a browser.
func (c *terminal) confirmSignIn(
	t *testing.T, env []string, answer string,
) (out string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), c.p.w.binary, "login", c.p.url, "--context",
		"by-browser")
	command.Env = append(cleanEnv(), env...)
	var said bytes.Buffer
	command.Stdout = &said
	errs, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(errs)
	for lines.Scan() {
		out += lines.Text() + "\n"
		if found := shownCode.FindStringSubmatch(lines.Text()); found != nil {
			c.answersCode(t, found[1], answer)
		}
	}
	_ = command.Wait()
	return out + said.String(), command.ProcessState.ExitCode()
}

// answersCode says what a person says on the page of the code.
func (c *terminal) answersCode(t *testing.T, code, method string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	send := func(method, path, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, c.p.url+path,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", c.p.url)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		res, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	in := send(http.MethodPost, "/api/v1/sessions",
		fmt.Sprintf(`{"user":"admin","password":%q}`, c.p.password))
	if said := send(method, "/api/v1/me/device-logins/"+code, ""); in != http.StatusCreated ||
		said != http.StatusNoContent {
		t.Errorf("signed in %d, answered the code %d", in, said)
	}
}

// wrong holds refusals to their exit codes and words.
func (c *terminal) wrong(t *testing.T) {
	t.Helper()
	for _, bad := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "nonsense", []string{"nonsense"}},
		{exitUsage, "flag", []string{"list", "--nonsense"}},
		{exitUsage, "usage", []string{"show"}},
		{exitUsage, "--name", []string{"deploy", "cli", "--env", "qa"}},
		{exitUsage, "accepts", []string{"open"}},
		{exitUsage, "STEP=TAG", []string{"deploy", "cli", "--env", "qa", "--name", "x", "--set", "web"}},
		{exitRefused, "ghost", []string{"show", "ghost"}},
		{exitRefused, "ghost", []string{"deploy", "ghost", "--env", "qa", "--name", "x"}},
		{exitRefused, "v9.9.9",
			[]string{"deploy", "cli", "--env", "qa", "--name", "x", "--set", "web=v9.9.9"}},
		{exitRefused, "name", []string{"deploy", "cli", "--env", "qa", "--name", "Not_A.Label"}},
	} {
		_, errs := c.run(t, bad.code, bad.args...)
		if !strings.Contains(errs, bad.says) || !strings.HasPrefix(errs, "nullops:") {
			t.Errorf("nullops %s says %q, not %q", strings.Join(bad.args, " "), errs, bad.says)
		}
	}
	file := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(file, []byte("kind: service\nname: bad\nregistry: local\n"+
		"image: a\ntag_mode: selectable\nspeed: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := runCommand(t, c.p.w.binary, c.env, "", "apply", "-f", file)
	if code == 0 || !strings.Contains(errs, "speed") {
		t.Errorf("apply with an unknown field: %d %s", code, errs)
	}
}

// daily deploys, looks, follows logs, opens and removes.
func (c *terminal) daily(t *testing.T) {
	t.Helper()
	out, _ := c.run(t, 0, "deploy", "cli", "--env", "qa", "--name", "daily", "--set", "web=v1.0.0")
	for _, part := range []string{"say", "done", "mode succeed", "web", "daily: ready",
		"http://web.daily.qa.localhost:"} {
		if !strings.Contains(out, part) {
			t.Errorf("deploy does not show %q:\n%s", part, out)
		}
	}
	var d apiclient.Deployment
	c.decode(t, &d, 0, "show", "daily")
	if d.Status != apiclient.DeploymentStatusReady || d.Versions[0].Tag != "v1.0.0" {
		t.Errorf("show --json: %+v", d)
	}
	var list []apiclient.Deployment
	c.decode(t, &list, 0, "list", "--project", "cli")
	if len(list) != 1 || list[0].Id != d.Id {
		t.Errorf("list --json: %+v", list)
	}
	if out, _ = c.run(t, 0, "list"); !strings.Contains(out, "NAME") ||
		!strings.Contains(out, "daily") {
		t.Errorf("list:\n%s", out)
	}
	if out, _ = c.run(t, 0, "open", "daily"); strings.TrimSpace(out) != serviceURL(t, d, "web") {
		t.Errorf("open prints %q", out)
	}
	if out, _ = c.run(t, 0, "logs", "daily", "say"); !strings.Contains(out, "mode succeed") {
		t.Errorf("logs of a plugin: %q", out)
	}
	if out, _ = c.run(t, 0, "logs", "daily", "web"); !strings.Contains(out, "listening") {
		t.Errorf("logs of a service: %q", out)
	}
	c.reads(t)
	c.followLogs(t, serviceURL(t, d, "web"))
	c.useService(t)
	if _, errs := c.run(t, exitRefused, "deploy", "cli", "--env", "qa", "--name", "daily"); !strings.
		Contains(errs, "taken") {
		t.Errorf("the same name again: %s", errs)
	}
	var gone apiclient.Deployment
	c.decode(t, &gone, 0, "remove", "daily")
	if gone.Status != apiclient.DeploymentStatusRemoved {
		t.Errorf("remove --json: %+v", gone)
	}
	c.run(t, exitRefused, "show", "daily")
	eventually(t, "the log of a service that is gone is kept", func() string {
		out, _ := c.run(t, 0, "logs", d.Id, "web")
		if !strings.Contains(out, "listening") {
			return "only " + out
		}
		return ""
	})
	c.audit(t)
}

// reads narrows logs, and writes them to a file.
func (c *terminal) reads(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.txt")
	for _, one := range []struct {
		args       string
		with, lack []string
	}{
		{"", []string{"say  mode succeed", "web  ", "listening"}, nil},
		{"web say", []string{"mode succeed", "listening"}, nil},
		{"--search LISTEN", []string{"listening"}, []string{"mode succeed"}},
		{"--since 2h", []string{"mode succeed", "listening"}, nil},
		{"--until 2h", nil, []string{"mode succeed", "listening"}},
		{"--since " + time.Now().Add(time.Hour).Format(time.RFC3339), nil,
			[]string{"mode succeed", "listening"}},
		{"web -t", []string{time.Now().Format("2006-01-02 "), "listening"}, nil},
		{"--run 1", []string{"mode succeed"}, nil},
		{"--json web", []string{`"source":"web"`, "listening"}, nil},
		{"-o -", []string{" say | mode succeed", " web | ", "listening"}, nil},
		{"-o " + file, nil, []string{"listening"}},
	} {
		out, _ := c.run(t, 0, append([]string{"logs", "daily"}, strings.Fields(one.args)...)...)
		for _, part := range one.with {
			if !strings.Contains(out, part) {
				t.Errorf("logs %s lacks %q:\n%s", one.args, part, out)
			}
		}
		for _, part := range one.lack {
			if strings.Contains(out, part) {
				t.Errorf("logs %s has %q:\n%s", one.args, part, out)
			}
		}
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "listening") {
		t.Errorf("the file: %v\n%s", err, text)
	}
	for _, bad := range []string{"--since yesterday", "--until x", "-o x -f", "-o x --tail 3"} {
		c.run(t, exitUsage, append([]string{"logs", "daily"}, strings.Fields(bad)...)...)
	}
}

// useService gets into a service: a command with its exit code, and a file in and out.
func (c *terminal) useService(t *testing.T) {
	t.Helper()
	const helper = "/.nullops/init"
	if _, errs := c.run(t, 120, "exec", "daily", "web", "--", helper, "nonsense", "x"); !strings.
		Contains(errs, "usage") {
		t.Errorf("exec says %q", errs)
	}
	if _, errs := c.run(t, 127, "exec", "daily", "web", "--", "no-such-program"); !strings.
		Contains(errs, "no-such-program") {
		t.Errorf("exec of nothing says %q", errs)
	}
	here := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(here, []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.run(t, 0, "cp", here, "daily/web:/dev/shm/")
	if out, _ := c.run(t, 0, "cp", "daily/web:/dev/shm/note.txt", "-"); out != "a note" {
		t.Errorf("the file came back as %q", out)
	}
	if _, errs := c.run(t, exitRefused, "port-forward", "daily/web:1"); !strings.
		Contains(errs, "declares no port") {
		t.Errorf("a port that is not declared: %s", errs)
	}
	if out, _ := c.run(t, 0, "audit", "list", "--action", "open terminal"); !strings.
		Contains(out, "service web of deployment daily") {
		t.Errorf("the audit:\n%s", out)
	}
}

// audit shows what was just done, and that the journal holds.
func (c *terminal) audit(t *testing.T) {
	t.Helper()
	// promise: N-287
	if out, _ := c.run(t, 0, "audit", "list", "--object", "deployment daily"); !strings.
		Contains(out, "create deployment") || !strings.Contains(out, "remove deployment") {
		t.Errorf("audit list:\n%s", out)
	}
	if out, _ := c.run(t, 0, "audit", "export", "--action", "create deployment"); !strings.
		HasPrefix(out, "id,seq,at,actor,action,object") || !strings.Contains(out, "deployment daily") {
		t.Errorf("audit export:\n%s", out)
	}
	// Agents that are connected remember earlier ends of the chain.
	if out, _ := c.run(t, 0, "audit", "verify"); !strings.HasPrefix(out, "audit: OK, ") ||
		strings.Contains(out, "as 0 nodes") {
		t.Errorf("audit verify: %s", out)
	}
}

// followLogs runs `logs -f` until it shows what happened after it began.
func (c *terminal) followLogs(t *testing.T, url string) {
	t.Helper()
	follow := exec.Command(c.p.w.binary, "logs", "-f", "daily", "web")
	follow.Env = append(cleanEnv(), c.env...)
	var seen locked
	follow.Stdout, follow.Stderr = &seen, &seen
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- follow.Wait() }()
	t.Cleanup(func() { _ = follow.Process.Kill() }) // also when it shows nothing
	eventually(t, "logs -f shows a line as it comes", func() string {
		c.p.visit(t, url+"/")
		if !strings.Contains(seen.String(), `"msg":"page"`) {
			return "only " + seen.String()
		}
		return ""
	})
	_ = follow.Process.Signal(syscall.SIGINT)
	<-ended // interrupted: any exit code
}

// locked is a buffer that a process writes to while we read.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
