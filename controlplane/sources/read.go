package sources

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/documents"
)

// isRead reports whether a file of the folder is needed: documents, and what they may name.
func isRead(name string) bool {
	return isDocument(name) ||
		slices.Contains([]string{".json", ".crt", ".pem"}, strings.ToLower(path.Ext(name)))
}

func isDocument(name string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(path.Ext(name)))
}

// readDocuments reads the documents of a commit's files, as 'nullops apply' would. Everything that
// is wrong with them is one *documents.Error.
func readDocuments(
	x controlplane.DefinitionSource, files []controlplane.SourceFile,
) ([]documents.Document, error) {
	var docs []documents.Document
	var found []documents.Problem
	for _, f := range files {
		if isDocument(f.Path) {
			more, problems := documents.Parse(f.Path, []byte(f.Text))
			docs, found = append(docs, more...), append(found, problems...)
		}
	}
	if len(docs)+len(found) == 0 {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "no_documents",
			Message: "the folder holds no documents",
			Remedy:  "Put .yaml files there, as 'nullops export' writes them, or correct the folder."}
	}
	found = append(found, documents.FindDuplicates(docs)...)
	for _, d := range docs {
		found = append(found, refuseForeign(x, d)...)
	}
	err := filesOnly(files).Complete(docs)
	if wrong, ok := errors.AsType[*documents.Error](err); ok {
		found = append(found, wrong.Problems...)
	}
	return docs, documents.ErrorOf(found)
}

// refuseForeign refuses kinds that the source may not define, and secrets in clear text.
func refuseForeign(
	x controlplane.DefinitionSource, d documents.Document,
) (found []documents.Problem) {
	if !slices.Contains(x.Kinds, d.Kind) {
		p := d.NewProblem("", "this source may not define a "+d.Kind)
		p.Remedy = "Remove it, or let an admin allow the kind for the source."
		found = append(found, p)
	}
	for _, field := range documents.HiddenFields[d.Kind] {
		if d.Body[field] != nil {
			p := d.NewProblem(field, "a secret does not stand in a repository")
			p.Remedy = fmt.Sprintf("Remove it and change it, since it was pushed. Write %s_from_env with "+
				"any name instead, and save the value in NullOps: it is kept.", field)
			found = append(found, p)
		}
	}
	return found
}

// filesOnly has no environment variables, and of files those of the commit alone. Without a value,
// the one that is stored is kept.
func filesOnly(files []controlplane.SourceFile) documents.Surroundings {
	return documents.Surroundings{Getenv: func(string) string { return "" },
		ReadFile: func(document, name string) ([]byte, error) {
			at := path.Join(path.Dir(document), name)
			i := slices.IndexFunc(files, func(f controlplane.SourceFile) bool { return f.Path == at })
			if path.IsAbs(name) || i < 0 {
				return nil, fmt.Errorf("%s is no .json, .crt or .pem file below the source's folder", name)
			}
			return []byte(files[i].Text), nil
		}}
}

// toFailure says why nothing can be applied; false for what is no fault of the repository.
func toFailure(err error, docs []documents.Document) (*controlplane.SourceFailure, bool) {
	if wrong, ok := errors.AsType[*documents.Error](err); ok {
		return &controlplane.SourceFailure{Code: "documents_refused", Message: countProblems(
			len(wrong.Problems)), Remedy: "Correct what is listed, and push.",
			Problems: toProblems(wrong.Problems)}, true
	}
	refused, ok := errors.AsType[*controlplane.Error](err)
	if !ok {
		return nil, false
	}
	out := &controlplane.SourceFailure{Code: refused.Code, Message: refused.Message,
		Remedy: refused.Remedy}
	var found []documents.Problem
	for _, p := range refused.Problems {
		found = append(found, locateProblem(docs, p))
	}
	if len(found) > 0 {
		out.Message, out.Remedy = countProblems(len(found)), "Correct what is listed, and push."
		out.Problems = toProblems(found)
	}
	return out, true
}

func countProblems(n int) string {
	if n == 1 {
		return "the documents have one problem, so nothing was changed"
	}
	return fmt.Sprintf("the documents have %d problems, so nothing was changed", n)
}

// locateProblem puts a problem at its line, in words that fit a repository.
func locateProblem(docs []documents.Document, p controlplane.Problem) documents.Problem {
	out := documents.Problem{Step: p.Step, Field: p.Field, Message: p.Message, Remedy: p.Remedy,
		Users: p.Users}
	switch p.Code {
	case "value_missing":
		why, _, _ := strings.Cut(p.Message, ", and the environment variable")
		out.Message = why + ", and none comes from a repository"
		out.Remedy = "Save the value in NullOps once: it is kept from then on."
	case "other_owner":
		out.Remedy = "Remove it from one of the two. What 'nullops apply --owner NAME' held moves to a " +
			"source of that name."
	}
	if p.Document == nil || *p.Document >= len(docs) {
		return out
	}
	return out.At(docs[*p.Document])
}

// mostProblems keeps the answer readable.
const mostProblems = 100

func toProblems(found []documents.Problem) (all []controlplane.SourceProblem) {
	for _, p := range found[:min(len(found), mostProblems)] {
		all = append(all, controlplane.SourceProblem(p))
	}
	return all
}
