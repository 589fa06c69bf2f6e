package provision

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/mask"
)

// The shell passes every quoted word on unchanged.
func TestLine_IsNothingButWords(t *testing.T) {
	words := []string{"printf", "%s\n", "a b", "it's", `$(touch /tmp/x) "and" \`, "`id`", "", "ä\tö",
		"; reboot", "*", "-n"}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", commandLine(words)).Output()
	if want := strings.Join(words[2:], "\n") + "\n"; err != nil || string(out) != want {
		t.Errorf("the shell made %q of it, not %q, %v", out, want, err)
	}
}

// The unit is one that systemd takes.
func TestUnitFile_IsValid(t *testing.T) {
	text := unitFile("/opt/nullops/nullops", "/opt/nullops/agent.yaml")
	if !strings.Contains(text, "\nExecStart=/opt/nullops/nullops agent "+
		"--config=/opt/nullops/agent.yaml\n") || !strings.Contains(text, "\nRestart=always\n") {
		t.Errorf("the unit is\n%s", text)
	}
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, unit)
	// A program that is there: it is looked for.
	text = strings.ReplaceAll(text, "/opt/nullops/nullops", "/bin/true")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), verify, "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), unit+":") {
		t.Errorf("systemd refuses the unit: %v\n%s", err, out)
	}
}

func TestCollector_KeepsAPart(t *testing.T) {
	var said []string
	c := &collector{say: func(line string) { said = append(said, line) }}
	for _, part := range []string{"one\ntw", "o\n\nrest", strings.Repeat("x", 2*maxLine)} {
		if _, err := c.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	c.flushRest()
	if len(said) != 6 || said[1] != "two" || said[2] != "" || len(said[3]) != maxLine {
		t.Errorf("%d lines: %.20q", len(said), said)
	}
	if _, err := c.Write([]byte(strings.Repeat("y\n", maxOutput))); err != nil ||
		len(c.text()) != maxOutput {
		t.Errorf("kept %d bytes, %v", len(c.text()), err)
	}
}

func TestMask_HidesSecretsInEveryLine(t *testing.T) {
	j := &provisionJob{Provisioner: New(Config{})}
	j.maskSecrets(
		controlplane.NewPlain("hunter2"),
		controlplane.NewPlain(""),
		controlplane.NewPlain("ab"),
	)
	j.stored = time.Now().Add(time.Hour) // nothing is stored here
	j.printLine("the password hunter2 of abby, hunter2\x00\xff\r")
	if got := j.output.String(); got != "the password [secret] of abby, [secret]\uFFFD\n" {
		t.Errorf("said %q", got)
	}
	j.maskSecrets(controlplane.NewPlain("pa/ss word+1"))
	j.output.Reset()
	j.printLine("pa%2Fss%20word%2B1 cGEvc3Mgd29yZCsx 70612f737320776f72642b31 pa\\/ss word+1")
	if got := j.output.String(); got != "[secret] [secret] [secret] [secret]\n" {
		t.Errorf("of other encodings it said %q", got)
	}
	why := j.explainMasked(t.Context(), "docker", &programFailure{program: "sudo", code: 1,
		output: "wrong password: pa%2fss word+1"})
	if !strings.HasSuffix(why.Message, "wrong password: [secret]") {
		t.Errorf("the reason is %q", why.Message)
	}
	j.printLine(strings.Repeat("z", 2*maxOutput))
	if n := j.output.Len(); n > maxOutput {
		t.Errorf("kept %d bytes", n)
	}
}

// A line that is longer than a piece is passed on in pieces, and a secret that lies
// across their border is hidden, at every place that it could have.
func TestCollector_HidesSecretsAcrossPieces(t *testing.T) {
	const secret = "correct-horse-battery"
	for at := maxLine - len(secret); at <= maxLine; at++ {
		var said strings.Builder
		c := &collector{say: func(s string) { said.WriteString(s) },
			masker: mask.New(nil, secret)}
		text := strings.Repeat("x", at) + secret + strings.Repeat("y", maxLine)
		for _, part := range []string{text[:at+3], text[at+3:], "\nend"} {
			if _, err := c.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		c.flushRest()
		want := strings.Repeat("x", at) + mask.Placeholder + strings.Repeat("y", maxLine) + "end"
		if said.String() != want {
			t.Fatalf("with the secret at %d it said %q", at, said.String()[at-10:at+40])
		}
	}
}
