// Package gitfetch reads the files of one folder at the tip of a branch, over HTTP, with version 2
// of git's protocol. It keeps no clone and writes nothing to a disk.
//
// Whoever pushes to the repository decides what comes, so everything is bounded: time by the
// caller's context, and the bytes on the wire, objects, their sizes and the files by Limits. Where
// the host can filter, only the folder's files are transferred, however large the repository is.
// Every object is found by the hash of its content, beginning with the commit of the branch.
package gitfetch

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/quantity"
)

// Limits bound what is read.
type Limits struct {
	// Pack is the most bytes of one answer, Object the largest object that is kept, and Objects how
	// many bytes all that are kept may have together.
	Pack, Object, Objects int64
	// Files is how many files are read, File the size of the largest, and Text that of all.
	Files      int
	File, Text int64
}

// DefaultLimits are far more than definitions need, and less than what hurts a control plane.
func DefaultLimits() Limits {
	return Limits{Pack: 64 << 20, Object: 4 << 20, Objects: 64 << 20,
		Files: 2000, File: 1 << 20, Text: 8 << 20}
}

// Repository is a branch of a repository and how it is reached.
type Repository struct {
	// Client makes the requests; it must not follow redirects, which could lead the password away.
	Client *http.Client
	// URL is http or https, without a password in it.
	URL string
	// Username and Password sign in, where Password is not empty.
	Username, Password string
	Branch             string
	Limits             Limits
}

// File is one file below the folder.
type File struct {
	// Path is that in the repository.
	Path string
	Text []byte
}

// Snapshot is a folder at one commit.
type Snapshot struct {
	Commit, Subject, Author string
	At                      time.Time
	Files                   []File
}

// Error is a refusal that a person can do something about.
type Error struct{ Code, Message, Remedy string }

func (e *Error) Error() string { return e.Message }

// Tip returns the commit that the branch is at.
func (r Repository) Tip(ctx context.Context) (string, error) {
	h, err := r.contactHost(ctx)
	if err != nil {
		return "", err
	}
	return h.readTip(ctx)
}

// Fetch reads the files below the folder for which wanted is true of their name, at the tip of the
// branch. Folders whose names begin with a dot are left out, and so are submodules.
func (r Repository) Fetch(
	ctx context.Context, folder string, wanted func(name string) bool,
) (out Snapshot, err error) {
	h, err := r.contactHost(ctx)
	if err != nil {
		return out, err
	}
	tip, err := h.readTip(ctx)
	if err != nil {
		return out, err
	}
	objects, err := h.fetchObjects(ctx, []string{tip}, true)
	if err != nil {
		return out, err
	}
	w := walk{repository: r, objects: objects, wanted: wanted}
	if out, err = w.readCommit(tip); err != nil {
		return out, err
	}
	if err = w.readFolder(folder); err != nil {
		return out, err
	}
	if missing := w.missingFiles(); h.filters && len(missing) > 0 {
		more, err := h.fetchObjects(ctx, missing, false)
		if err != nil {
			return out, err
		}
		w.objects.addObjects(more)
	}
	out.Files, err = w.readFiles()
	return out, err
}

// walk collects the files of one commit.
type walk struct {
	repository Repository
	objects    *objects
	wanted     func(name string) bool
	tree       string
	found      []treeEntry
}

// readCommit reads who made the commit, and remembers its tree.
func (w *walk) readCommit(hash string) (out Snapshot, err error) {
	o, err := w.objects.getObject(hash, kindCommit)
	if err != nil {
		return out, err
	}
	head, text, _ := strings.Cut(string(o.data), "\n\n")
	out.Commit, out.Subject = hash, firstLine(text)
	for line := range strings.SplitSeq(head, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "tree":
			w.tree = rest
		case "author":
			out.Author, _ = splitSignature(rest)
		case "committer":
			_, out.At = splitSignature(rest)
		}
	}
	return out, nil
}

// readFolder finds the files below a folder, which is empty for the whole repository.
func (w *walk) readFolder(folder string) error {
	tree, at := w.tree, ""
	for _, name := range strings.FieldsFunc(folder, func(c rune) bool { return c == '/' }) {
		entries, err := w.readTree(tree, at)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == name })
		if i < 0 || entries[i].mode != modeFolder {
			return &Error{Code: "folder_missing",
				Message: fmt.Sprintf("the branch %s has no folder %s", w.repository.Branch, folder),
				Remedy:  "Correct the folder, or add it to the repository."}
		}
		tree, at = entries[i].hash, path.Join(at, name)
	}
	return w.collectFiles(tree, at, 0)
}

// deepest is how many folders may be in each other.
const deepest = 32

func (w *walk) collectFiles(tree, at string, depth int) error {
	if depth > deepest {
		return tooLarge(fmt.Sprintf("%s has folders in folders, deeper than %d", at, deepest))
	}
	entries, err := w.readTree(tree, at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		e.path = path.Join(at, e.name)
		switch {
		case e.mode == modeFolder && !strings.HasPrefix(e.name, "."):
			if err := w.collectFiles(e.hash, e.path, depth+1); err != nil {
				return err
			}
		case e.mode == modeFolder || e.mode == modeSubmodule || !w.wanted(e.name):
		case e.mode == modeLink:
			return &Error{Code: "symbolic_link", Message: e.path + " is a symbolic link",
				Remedy: "Put the file itself there: links are not followed."}
		default:
			w.found = append(w.found, e)
		}
		if len(w.found) > w.repository.Limits.Files {
			return tooLarge(fmt.Sprintf("the folder has more than %d files", w.repository.Limits.Files))
		}
	}
	return nil
}

// missingFiles are the hashes of files that did not come with the trees.
func (w *walk) missingFiles() (all []string) {
	for _, e := range w.found {
		if !w.objects.hasObject(e.hash) && !slices.Contains(all, e.hash) {
			all = append(all, e.hash)
		}
	}
	return all
}

func (w *walk) readFiles() (all []File, err error) {
	var total int64
	for _, e := range w.found {
		o, err := w.objects.getObject(e.hash, kindBlob)
		if err != nil || int64(len(o.data)) > w.repository.Limits.File {
			return nil, tooLarge(fmt.Sprintf("%s is larger than %s, or did not come", e.path,
				quantity.FormatBytes(w.repository.Limits.File)))
		}
		if total += int64(len(o.data)); total > w.repository.Limits.Text {
			return nil, tooLarge("the folder's files have more than " +
				quantity.FormatBytes(w.repository.Limits.Text) + " together")
		}
		all = append(all, File{Path: e.path, Text: o.data})
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

func tooLarge(message string) *Error {
	return &Error{Code: "repository_large", Message: message,
		Remedy: "Keep definitions in a folder or a repository of their own."}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 200
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}
