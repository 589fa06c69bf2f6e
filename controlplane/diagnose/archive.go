package diagnose

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/postgres"
)

// mostNodes is how many agents are asked if nobody names some.
const mostNodes = 20

// Archive writes one archive for support, in gzip's and tar's form: versions, settings, checks, and
// of every process its last log lines, metrics and goroutines. Of agents it has those of the named
// nodes, otherwise those of the first that are online. What is secret in it is hidden, and
// README.txt says where. It takes up to a quarter of a minute.
func (d *Diagnosis) Archive(
	ctx context.Context, actor access.Actor, nodes []string,
) ([]byte, error) {
	const action, object = "write", "support archive"
	if err := audit.RequireAdmin(ctx, d.Store, actor, action, object); err != nil {
		return nil, err
	}
	secrets, err := d.Secrets(ctx)
	if err != nil {
		return nil, audit.RecordRefusal(ctx, d.Store, actor, action, object, &controlplane.Error{
			Kind: controlplane.Unavailable, Code: "not_scanned", Cause: err,
			Message: "an archive could not be searched for secrets, so none is written",
			Remedy:  "See that every key of 'nullops keys list' is present, and try again."})
	}
	request := controlplane.NewID[string]()
	err = audit.ChangeAsAdmin(ctx, d.Store, actor, action, object, func(tx *postgres.Tx) error {
		return tx.Diagnosis().Request(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	defer d.finish(ctx, request)
	all, files, err := d.collect(ctx, request, nodes)
	if err != nil {
		return nil, err
	}
	return writeArchive(all, files, newScanner(secrets))
}

// finish deletes what processes have added. It must happen however the archive ended.
func (d *Diagnosis) finish(ctx context.Context, request string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := d.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Diagnosis().Finish(ctx, request)
	})
	if err != nil {
		d.Log.WarnContext(ctx, "parts of a support archive are left in the database", "error", err)
	}
}

// collect asks everyone for their part.
func (d *Diagnosis) collect(ctx context.Context, request string, names []string) (
	all []source, files []controlplane.DiagnosisFile, err error,
) {
	if err := d.Follow(ctx); err != nil {
		return nil, nil, err
	}
	f, err := d.readFacts(ctx)
	if err != nil {
		return nil, nil, err
	}
	if files, err = d.writeFacts(f); err != nil {
		return nil, nil, err
	}
	chosen, left, err := chooseNodes(f.nodes, names)
	if err != nil {
		return nil, nil, err
	}
	agents := make(chan []source, 1)
	go func() { agents <- d.askAgents(ctx, chosen) }()
	all, err = d.awaitProcesses(ctx, request, d.withThis(f.processes))
	all = append(all, <-agents...)
	if left > 0 {
		all = append(all, source{name: "nodes", missing: fmt.Sprintf(
			"of %d other nodes there is nothing; name them with --node to have them", left)})
	}
	return all, files, err
}

// withThis adds this process, if it has not told yet that it is alive.
func (d *Diagnosis) withThis(all []controlplane.Process) []controlplane.Process {
	if slices.ContainsFunc(all, func(p controlplane.Process) bool { return p.ID == d.Process }) {
		return all
	}
	return append(slices.Clip(all), controlplane.Process{ID: d.Process})
}

// chooseNodes returns the nodes whose agents are asked, and how many are not.
func chooseNodes(all []controlplane.Node, names []string) (
	chosen []controlplane.Node, left int, err error,
) {
	for _, name := range names {
		i := slices.IndexFunc(all, func(n controlplane.Node) bool { return n.Name == name })
		if i < 0 {
			return nil, 0, controlplane.NewNotFoundError("node", name)
		}
		chosen = append(chosen, all[i])
	}
	if len(names) > 0 {
		return chosen, 0, nil
	}
	chosen = slices.Clone(all)
	slices.SortStableFunc(chosen, func(a, b controlplane.Node) int {
		return rankOf(a) - rankOf(b)
	})
	most := min(len(chosen), mostNodes)
	return chosen[:most], len(chosen) - most, nil
}

// rankOf puts nodes first that can answer.
func rankOf(n controlplane.Node) int {
	if n.Status == controlplane.NodeOnline {
		return 0
	}
	return 1
}

// writeArchive hides what is secret, and writes README.txt first: people open it first.
func writeArchive(
	all []source, files []controlplane.DiagnosisFile, scan *scanner,
) ([]byte, error) {
	for _, s := range all {
		for _, f := range s.files {
			files = append(files, controlplane.DiagnosisFile{
				Name: s.name + "/" + folderName(f.Name), Data: f.Data})
		}
	}
	for i, f := range files {
		files[i].Data = []byte(scan.hide(f.Name, string(f.Data)))
	}
	readme := scan.hide("README.txt", describeArchive(all, files, scan.found))
	files = append([]controlplane.DiagnosisFile{{Name: "README.txt", Data: []byte(readme)}},
		files...)
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, f := range files {
		h := tar.Header{Name: "nullops-support/" + f.Name, Mode: 0o600, Size: int64(len(f.Data)),
			ModTime: time.Now(), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(&h); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.Name, err)
		}
		if _, err := archive.Write(f.Data); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.Name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	if err := zipped.Close(); err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	return out.Bytes(), nil
}

func describeArchive(
	all []source, files []controlplane.DiagnosisFile, found []string,
) string {
	var b strings.Builder
	b.WriteString("A support archive of NullOps. It was searched for secrets before it was written.\n")
	if len(found) == 0 {
		b.WriteString("Nothing secret was found.\n")
	} else {
		b.WriteString("Hidden, and shown as [secret]:\n")
		for _, f := range found {
			b.WriteString("  " + f + "\n")
		}
	}
	b.WriteString("\nFiles:\n")
	for _, f := range files {
		fmt.Fprintf(&b, "  %s, %d bytes\n", f.Name, len(f.Data))
	}
	for _, s := range all {
		if s.missing != "" {
			fmt.Fprintf(&b, "\nMissing: %s: %s\n", s.name, s.missing)
		}
	}
	return b.String()
}
