package provision

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/pkg/sftp"

	"github.com/nullops/nullops/controlplane"
)

// programPath is where the agent's binary is on the machine.
func (j *provisionJob) programPath() string { return path.Join(j.where.Plan.Directory, "nullops") }

func (j *provisionJob) settingsPath() string {
	return path.Join(j.where.Plan.Directory,
		"agent.yaml")
}

var folderName = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)

// uploadProgram copies this program to the machine, unless it is there already. It is written under
// a temporary name first, so that an incomplete file is never executed.
func (j *provisionJob) uploadProgram(ctx context.Context) error {
	out, err := j.machine.runAsUser(ctx, "mktemp", "-d")
	if err != nil {
		return err
	}
	stage := lastLine(out)
	if !folderName.MatchString(stage) {
		return fmt.Errorf("mktemp made a folder with a name that cannot be used: %q", stage)
	}
	j.stage = stage
	sum, err := fileChecksum(j.Program)
	if err != nil {
		return err
	}
	if there, err := j.sumOf(ctx, j.programPath()); err != nil || there == sum {
		if err == nil {
			j.printLine("the program is there already")
		}
		return err
	}
	for _, dir := range []string{j.where.Plan.Directory, j.where.Plan.Data, j.where.Plan.Run} {
		if _, err := j.machine.runAsRoot(ctx, "mkdir", "-p", "--", dir); err != nil {
			return j.explainDiskError(err)
		}
	}
	source, err := os.Open(j.Program)
	if err != nil {
		return fmt.Errorf("open the program: %w", err)
	}
	defer func() { _ = source.Close() }() // it was only read
	if err := j.uploadFile(ctx, "nullops", source); err != nil {
		return err
	}
	fresh := path.Join(j.where.Plan.Directory, ".nullops.new")
	if err := j.installFile(ctx, "nullops", fresh, "0755"); err != nil {
		return err
	}
	arrived, err := j.sumOf(ctx, fresh)
	if err == nil && arrived != sum {
		err = newFault("checksum_mismatch", "the program arrived damaged",
			"Check the machine's disk and memory, and begin a new attempt.", nil)
	}
	if err != nil {
		return err
	}
	if _, err := j.machine.runAsRoot(ctx, "mv", "-f", "--", fresh, j.programPath()); err != nil {
		return j.explainDiskError(err)
	}
	j.printLine("uploaded " + j.programPath() + ", SHA-256 " + sum)
	return nil
}

// installFile copies a staged file to where it belongs, and takes a half copy away.
func (j *provisionJob) installFile(ctx context.Context, name, to, mode string) error {
	_, err := j.machine.runAsRoot(ctx, "install", "-m", mode, "--", path.Join(j.stage, name), to)
	if err == nil {
		return nil
	}
	_, _ = j.machine.runAsRoot(ctx, "rm", "-f", "--", to) // the first error counts
	return j.explainDiskError(err)
}

// explainDiskError adds a remedy if a program failed because of the disk.
func (j *provisionJob) explainDiskError(err error) error {
	text := strings.ToLower(err.Error())
	for _, sign := range []string{"no space left", "read-only file system", "permission denied",
		"disk quota", "not a directory"} {
		if strings.Contains(text, sign) {
			return newFault("disk", err.Error(), "Make room, or choose folders that can be written, "+
				"and begin a new attempt.", err)
		}
	}
	return err
}

// sumOf returns a file's SHA-256 on the machine, "" if there is no such file.
func (j *provisionJob) sumOf(ctx context.Context, file string) (string, error) {
	if _, err := j.machine.runAsRoot(ctx, "test", "-f", file); err != nil {
		if exitCode(err) == 1 {
			return "", nil
		}
		return "", err
	}
	out, err := j.machine.runAsRoot(ctx, "sha256sum", "--", file)
	sum, _, _ := strings.Cut(lastLine(out), " ")
	return sum, err
}

func fileChecksum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("open the program: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// uploadFile writes a staged file that only the user can read.
func (j *provisionJob) uploadFile(ctx context.Context, name string, content io.Reader) error {
	// Without waiting for each part's answer. What that could leave in a file when
	// the line breaks is found by its checksum.
	files, err := sftp.NewClient(j.machine.client, sftp.UseConcurrentWrites(true))
	if err != nil {
		return newFault("no_sftp", "the machine's SSH server does not offer SFTP: "+innermostError(err),
			"Switch its sftp subsystem on, and begin a new attempt.", err)
	}
	defer func() { _ = files.Close() }() // each file was closed with its error
	stop := context.AfterFunc(ctx, func() { _ = files.Close() })
	defer stop()
	to := path.Join(j.stage, name)
	f, err := files.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return j.explainDiskError(fmt.Errorf("make %s: %w", to, err))
	}
	err = files.Chmod(to, 0o700)
	if err == nil {
		_, err = io.Copy(f, content)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		return nil
	}
	// SFTP has one word, "failure", for a full disk and for much else.
	if strings.Contains(err.Error(), "SSH_FX_FAILURE") {
		return newFault("disk", "writing "+to+" failed on the machine: "+err.Error(),
			"Look for a full or read-only disk there, and begin a new attempt.", err)
	}
	return j.explainDiskError(fmt.Errorf("write %s: %w", to, err))
}

var thumbprintLine = regexp.MustCompile(`(?m)^[0-9a-f]{64}$`)

// readIdentity has the agent create its certificate, or read the existing one, and
// print the thumbprint: only that certificate is accepted later.
func (j *provisionJob) readIdentity(ctx context.Context) error {
	out, err := j.machine.runAsRoot(ctx, j.programPath(), "agent", "identity",
		"--agent.data="+j.where.Plan.Data)
	if err != nil {
		return err
	}
	found := thumbprintLine.FindAllString(out, -1)
	if len(found) != 1 {
		return newFault("agent_failed", "the agent did not tell its certificate's thumbprint",
			"Look at the output of the step.", nil)
	}
	j.print = controlplane.Thumbprint(found[0])
	return nil
}

// enrolNode makes a token and writes the agent's settings.
func (j *provisionJob) enrolNode(ctx context.Context) error {
	e, err := j.Nodes.EnrolProvisioned(ctx, systemActor(), j.node.ID, j.print)
	if err != nil {
		return err
	}
	j.maskSecrets(j.credential.Password, j.credential.Passphrase, j.credential.PrivateKey, e.Token)
	text, err := agentSettings(j.node.Address, j.where.Plan, e.Token)
	if err != nil {
		return err
	}
	if err := j.uploadFile(ctx, "agent.yaml", bytes.NewReader(text)); err != nil {
		return err
	}
	if err := j.installFile(ctx, "agent.yaml", j.settingsPath(), "0600"); err != nil {
		return err
	}
	j.printLine("the agent has a new token and must show the certificate " + string(j.print))
	return nil
}
