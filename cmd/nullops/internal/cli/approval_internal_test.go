package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/documents"
	"github.com/nullops/nullops/pipeline"
)

// An approval survives a round trip through a document, and writing it again yields the same bytes.
func TestDocument_KeepsApprovals(t *testing.T) {
	text, err := os.ReadFile("../../../../pipeline/testdata/approval.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	p = pipeline.AsWritten(p)
	low := 0.5
	p.Input = []pipeline.InputField{{ApprovalField: pipeline.ApprovalField{Name: "rows",
		Type: pipeline.FieldNumber, Default: 2.0}, Description: "How many.", Min: &low},
		{ApprovalField: pipeline.ApprovalField{Name: "seed", Type: pipeline.FieldString,
			Required: true}, MaxLength: 9, Pattern: "[a-z: ]+"}}
	first, err := object{Kind: "project", Name: "shop", Body: apiclient.ProjectPut{},
		Pipeline: &p}.toYAML()
	if err != nil {
		t.Fatal(err)
	}
	docs, problems := documents.Parse("shop.yaml", first)
	if len(problems) > 0 {
		t.Fatalf("%v:\n%s", problems, first)
	}
	sent, err := json.Marshal(docs[0].Body["pipeline"])
	if err != nil {
		t.Fatal(err)
	}
	var back pipeline.Pipeline
	if err := json.Unmarshal(sent, &back); err != nil {
		t.Fatal(err)
	}
	read := object{Kind: "project", Name: "shop", Body: apiclient.ProjectPut{}, Pipeline: &back}
	want, _ := pipeline.Encode(p)
	if got, err := pipeline.Encode(back); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read as\n%s\n%v, want\n%s", got, err, want)
	}
	// promise: I-18
	if second, err := read.toYAML(); err != nil || !bytes.Equal(first, second) {
		t.Errorf("written again\n%s\n%v, want\n%s", second, err, first)
	}
}

func TestAnswerFields_ReadsWhatTheQuestionDeclares(t *testing.T) {
	q := &apiclient.Question{Step: "ask", Fields: []pipeline.ApprovalField{
		{Name: "rows", Type: pipeline.FieldNumber}, {Name: "sure", Type: pipeline.FieldBoolean},
		{Name: "note", Type: pipeline.FieldString}}}
	got, err := answerFields(q, "ask", []string{"rows=7.5", "sure=true", "note=a=b", "more=1"})
	if err != nil || got["rows"] != 7.5 || got["sure"] != true || got["note"] != "a=b" ||
		got["more"] != "1" {
		t.Errorf("%v, %v", got, err)
	}
	if got, _ := answerFields(q, "ask", []string{"rows=many"}); got["rows"] != "many" {
		t.Errorf("what is no number is the control plane's to refuse: %v", got)
	}
	for _, pair := range []string{"rows", "=7", "a=1,a=2"} {
		_, err := answerFields(q, "ask", strings.Split(pair, ","))
		if exit.CodeOf(err) != exit.Usage {
			t.Errorf("--field %s: %v", pair, err)
		}
	}
}
