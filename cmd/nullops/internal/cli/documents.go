package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/internal/documents"
)

// readDocuments reads files, every .yaml and .yml file of folders, and standard
// input for "-". It finds all that is wrong with them.
func readDocuments(paths []string, stdin io.Reader) ([]documents.Document, error) {
	var docs []documents.Document
	var found []documents.Problem
	for _, path := range paths {
		files, err := documentFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := readFileOr(file, stdin)
			if err != nil {
				return nil, err
			}
			more, problems := documents.Parse(file, text)
			docs, found = append(docs, more...), append(found, problems...)
		}
	}
	if len(docs)+len(found) == 0 {
		return nil, fmt.Errorf("%s holds no documents", strings.Join(paths, " and "))
	}
	return docs, documents.ErrorOf(append(found, documents.FindDuplicates(docs)...))
}

// completeDocuments fills in what documents leave out, from the caller's environment and files.
func completeDocuments(docs []documents.Document) error {
	return documents.Surroundings{Getenv: os.Getenv, ReadFile: readFileBeside}.Complete(docs)
}

// readFileBeside reads a file that a document names: an absolute path, or one relative to the
// document.
func readFileBeside(document, name string) ([]byte, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(document), path)
	}
	text, err := os.ReadFile(path)
	if why, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s cannot be read: %w", path, why.Err)
	}
	return text, err
}

func documentFiles(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read documents: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return files, nil
}

func readFileOr(file string, stdin io.Reader) ([]byte, error) {
	if file != "-" {
		return os.ReadFile(file)
	}
	// Never a part of it: what is cut off would look deleted to --prune.
	return io.ReadAll(stdin)
}

// applyOverrides sets top-level fields: KIND/NAME.FIELD=VALUE.
func applyOverrides(docs []documents.Document, settings []string) error {
	for _, s := range settings {
		path, value, ok := strings.Cut(s, "=")
		target, field, dotted := strings.Cut(path, ".")
		if !ok || !dotted {
			return exit.AsUsageError(fmt.Errorf("--set %q: write KIND/NAME.FIELD=VALUE", s))
		}
		i := slices.IndexFunc(docs, func(d documents.Document) bool {
			return d.Kind+"/"+d.Name == target
		})
		if i < 0 {
			return exit.AsUsageError(fmt.Errorf("--set %q: there is no %s in the documents", s, target))
		}
		var parsed any
		if err := yaml.Unmarshal([]byte(value), &parsed); err != nil {
			return exit.AsUsageError(fmt.Errorf("--set %q: %w", s, err))
		}
		docs[i].Body[field] = parsed
	}
	return nil
}
