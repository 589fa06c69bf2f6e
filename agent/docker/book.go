package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/pipeline"
)

// mostNoted bounds the book; when it is full, the older half is forgotten. Containers that still
// exist are added again with the next list.
const mostNoted = 8192

// containerBook remembers the ids of the containers and networks that we made, beyond the
// engine's own memory: a process of a container that the engine has lost is ours
// if, and only if, its container is in here. Ids are random, so no container of
// anybody else is.
type containerBook struct {
	path string

	mu sync.Mutex
	// there: the file exists.
	there bool
	known map[string]notedContainer
	order []string
}

// notedContainer is a container as we made it.
type notedContainer struct {
	agent.Object
	// engine is the id of the engine that it was made on.
	engine string
}

// openBook reads the book of a data folder. A line that is damaged is left out, whatever its
// length. One without an end or with zeros was being written when the power was lost; with another
// one the file was damaged, and is put aside.
func openBook(dataDir string, log *slog.Logger) (*containerBook, error) {
	b := &containerBook{path: filepath.Join(dataDir, "containers"), known: map[string]notedContainer{}}
	text, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of containers: %w", err)
	}
	b.there = true
	torn, damaged := 0, 0
	for line := range strings.Lines(string(text)) {
		n, ok := parseNote(strings.TrimSuffix(line, "\n"))
		switch {
		case !strings.HasSuffix(line, "\n") || strings.Contains(line, "\x00"):
			torn++
		case !ok:
			damaged++
		default:
			b.addContainer(n)
		}
	}
	if torn+damaged == 0 && len(text) > 0 {
		return b, nil
	}
	if damaged > 0 || len(text) == 0 {
		aside, err := durable.PutAside(durable.OS{}, b.path)
		if err != nil {
			return nil, err
		}
		log.Error("the list of containers is damaged; those that still exist are listed again, and "+
			"processes that a killed engine lost before may not be found", "count", damaged,
			"file", aside)
	}
	return b, b.rewrite()
}

// parseNote reads a line. Those of older releases have no checksum.
func parseNote(line string) (n notedContainer, ok bool) {
	fields := strings.Split(line, " ")
	if len(fields) != 5 && len(fields) != 6 || !containerID.MatchString(fields[0]) {
		return n, false
	}
	n = notedContainer{engine: fields[1], Object: agent.Object{ID: fields[0],
		Kind: parseKind(fields[2]), Deployment: fields[3], Step: pipeline.StepKey(fields[4])}}
	old := len(fields) == 5 && !strings.Contains(line, "#")
	return n, old || n.formatLine() == line+"\n"
}

func (b *containerBook) addContainer(n notedContainer) {
	if _, there := b.known[n.ID]; !there {
		b.order = append(b.order, n.ID)
	}
	b.known[n.ID] = n
}

// findContainer returns what is noted of a container.
func (b *containerBook) findContainer(id string) (notedContainer, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.known[id]
	return n, ok
}

// rememberContainer remembers a container, on disk too. No sync: after a power cut no process
// is left that could be lost.
func (b *containerBook) rememberContainer(n notedContainer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.known[n.ID]; there || !containerID.MatchString(n.ID) {
		return nil
	}
	if len(b.order) >= mostNoted {
		if err := b.forgetOld(); err != nil {
			return err
		}
	}
	if !b.there {
		b.addContainer(n)
		return b.rewrite()
	}
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note a container: %w", err)
	}
	_, err = f.WriteString(n.formatLine())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note a container: %w", err)
	}
	b.addContainer(n)
	return nil
}

func (n notedContainer) formatLine() string {
	line := strings.Join([]string{n.ID, n.engine, string(n.Kind), n.Deployment, string(n.Step)}, " ")
	return fmt.Sprintf("%s #%08x\n", line, durable.Checksum([]byte(line)))
}

func (b *containerBook) forgetOld() error {
	old := len(b.order) / 2
	for _, id := range b.order[:old] {
		delete(b.known, id)
	}
	b.order = append([]string(nil), b.order[old:]...)
	return b.rewrite()
}

// rewrite replaces the file by what is known.
func (b *containerBook) rewrite() error {
	var text strings.Builder
	for _, id := range b.order {
		text.WriteString(b.known[id].formatLine())
	}
	err := durable.WriteFile(durable.OS{}, b.path, []byte(text.String()), 0o600)
	if err != nil {
		return fmt.Errorf("note containers: %w", err)
	}
	b.there = true
	return nil
}

// noteObject remembers a container or network that was made or listed. Without it what is lost
// cannot be distinguished from a stranger's later, which is no reason to fail now.
func (e *engine) noteObject(o agent.Object) {
	err := e.book.rememberContainer(notedContainer{Object: o, engine: e.hostPaths().engineID})
	if err != nil {
		e.log.Warn("an object was not noted", "kind", o.Kind, "object", o.ID, "error", err)
	}
}

// findBridge returns the network that a bridge was made for, if it is ours. Networks are in the
// book for this alone.
func (b *containerBook) findBridge(bridge, engine string) (notedContainer, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, n := range b.known {
		if n.Kind == agent.KindNetwork && n.engine == engine && bridgeName(id) == bridge {
			return n, true
		}
	}
	return notedContainer{}, false
}
