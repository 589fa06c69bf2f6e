package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ensureCluster returns the folder of a complete cluster. A cluster is made beside its final path
// and renamed, so that a kill in the middle leaves nothing that looks complete; the next start
// clears it and begins again.
func ensureCluster(s settings) (string, error) {
	cluster, unfinished := filepath.Join(s.data, "cluster"), filepath.Join(s.data, "unfinished")
	_, err := os.Stat(filepath.Join(cluster, "PG_VERSION"))
	if err == nil {
		return cluster, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for a cluster in %s: %w", s.data, err)
	}
	if err := s.needPassword(); err != nil {
		return "", err
	}
	if err := os.RemoveAll(unfinished); err != nil {
		return "", fmt.Errorf("clear an unfinished cluster: %w", err)
	}
	if err := initCluster(s, unfinished); err != nil {
		return "", err
	}
	if err := allowNetwork(unfinished); err != nil {
		return "", err
	}
	if err := createDatabase(s, unfinished); err != nil {
		return "", err
	}
	if err := os.Rename(unfinished, cluster); err != nil {
		return "", fmt.Errorf("put the new cluster into its place: %w", err)
	}
	return cluster, nil
}

// initCluster makes the cluster. The password goes through a pipe.
func initCluster(s settings, dir string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe for the password: %w", err)
	}
	defer func() { _ = read.Close() }()
	// A pipe holds 64 KiB, so this cannot block.
	_, err = io.WriteString(write, s.password+"\n")
	if err = errors.Join(err, write.Close()); err != nil {
		return fmt.Errorf("hand the password to initdb: %w", err)
	}
	cmd := exec.Command(bin+"initdb", "--pgdata="+dir, "--username="+s.user,
		"--pwfile=/proc/self/fd/3", "--auth=scram-sha-256", "--encoding=UTF8",
		"--locale=C.UTF-8", "--no-instructions", "--no-sync")
	cmd.ExtraFiles = []*os.File{read}
	return runQuietly(cmd, "initdb")
}

// allowNetwork lets every address of the deployment's network try its password.
func allowNetwork(dir string) error {
	const rules = "\n# Added on first start: any address, password only.\n" +
		"host all all all scram-sha-256\n"
	f, err := os.OpenFile(filepath.Join(dir, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open pg_hba.conf: %w", err)
	}
	_, err = io.WriteString(f, rules)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write pg_hba.conf: %w", err)
	}
	return nil
}

// createDatabase makes POSTGRES_DB with the single-user server, which listens
// nowhere and so can meet nobody half-way.
func createDatabase(s settings, dir string) error {
	if s.database == "postgres" {
		return nil
	}
	quoted := `"` + strings.ReplaceAll(s.database, `"`, `""`) + `"`
	cmd := exec.Command(bin+"postgres", "--single", "-D", dir, "postgres")
	cmd.Stdin = strings.NewReader("CREATE DATABASE " + quoted + ";\n")
	return runQuietly(cmd, "create the database "+s.database)
}

// runQuietly shows a program's output only when it failed.
func runQuietly(cmd *exec.Cmd, what string) error {
	cmd.Env = withoutPassword(os.Environ())
	out, err := cmd.CombinedOutput()
	if err != nil {
		_, _ = os.Stderr.Write(out)
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
