package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
)

func (s *server) ListAudit(
	ctx context.Context, r ListAuditRequestObject,
) (ListAuditResponseObject, error) {
	before, err := auditCursor(valueOr(r.Params.Cursor, ""))
	if err != nil {
		return nil, err
	}
	p := r.Params
	size := valueOr(p.Limit, 100)
	all, err := s.Audit.List(ctx, actorOf(ctx), audit.Filter{
		Actor: valueOr(p.Actor, ""), Action: valueOr(p.Action, ""), Object: valueOr(p.Object, ""),
		Result: controlplane.AuditResult(valueOr(p.Result, "")),
		Since:  valueOr(p.Since, time.Time{}), Until: valueOr(p.Until, time.Time{}),
		Before: before, Most: size + 1, Forwards: valueOr(p.Sort, "") == ListAuditParamsSortAt,
	})
	if err != nil {
		return nil, err
	}
	all, next := controlplane.CutPage(controlplane.Page{Limit: size}, all,
		func(e controlplane.AuditEntry) string { return strconv.FormatInt(e.ID, 10) })
	return ListAudit200JSONResponse{
		Items:      convertAll(all, auditEntry),
		NextCursor: ptrOrNil(next),
	}, nil
}

func auditCursor(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	before, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || before < 1 {
		return 0, &controlplane.Error{Kind: controlplane.Invalid, Code: "cursor_invalid",
			Field: "cursor", Message: "this is no cursor of ours",
			Remedy: "Send the one of the page before, or none."}
	}
	return before, nil
}

func auditEntry(e controlplane.AuditEntry) AuditEntry {
	return AuditEntry{
		Id: strconv.FormatInt(e.ID, 10), Seq: ptrOrNil(e.Seq), At: e.At, Actor: e.Actor,
		Action: e.Action, Object: e.Object, Result: AuditResult(e.Result),
		Detail: ptrOrNil(e.Detail), From: ptrOrNil(e.From), RequestId: ptrOrNil(e.RequestID),
		Credential: ptrOrNil(e.Credential),
	}
}

func (s *server) VerifyAudit(
	ctx context.Context, _ VerifyAuditRequestObject,
) (VerifyAuditResponseObject, error) {
	v, err := s.Audit.Verify(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	out := VerifyAudit200JSONResponse{Ok: len(v.Findings) == 0, Entries: v.Entries, Head: v.Head,
		HeadLink: hex.EncodeToString(v.HeadLink[:]), Witnesses: &v.Witnesses}
	out.Findings = make(auditFindings, len(v.Findings))
	for i, f := range v.Findings {
		out.Findings[i].Seq, out.Findings[i].Problem = f.Seq, f.Problem
	}
	return out, nil
}

// auditFindings is what the generator leaves without a name.
type auditFindings = []struct {
	Problem string `json:"problem"`
	Seq     int64  `json:"seq"`
}

func (s *server) ExportAudit(
	ctx context.Context, r ExportAuditRequestObject,
) (ExportAuditResponseObject, error) {
	actor := actorOf(ctx)
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	p := r.Params
	pages := &exportPages[controlplane.AuditEntry]{write: writeAuditCSV,
		idOf: func(e controlplane.AuditEntry) int64 { return e.ID }}
	pages.next = func(before int64) ([]controlplane.AuditEntry, error) {
		return s.Audit.List(ctx, actor, audit.Filter{
			Actor: valueOr(p.Actor, ""), Action: valueOr(p.Action, ""), Object: valueOr(p.Object, ""),
			Result: controlplane.AuditResult(valueOr(p.Result, "")),
			Since:  valueOr(p.Since, time.Time{}), Until: valueOr(p.Until, time.Time{}),
			Before: before, Most: exportPage,
		})
	}
	if valueOr(p.Format, ExportAuditParamsFormatCsv) == ExportAuditParamsFormatJsonl {
		pages.write = writeJSONLines(auditEntry)
		return ExportAudit200ApplicationxNdjsonResponse{Body: pages,
			Headers: attachmentHeaders("audit.jsonl")}, nil
	}
	pages.ready.WriteString("id,seq,at,actor,action,object,result,detail,from,request_id,credential\n")
	return ExportAudit200TextcsvResponse{Body: pages, Headers: attachmentHeaders("audit.csv")}, nil
}

func attachmentHeaders(name string) ExportAudit200ResponseHeaders {
	return ExportAudit200ResponseHeaders{
		ContentDisposition: ptrOrNil(`attachment; filename="nullops-` + name + `"`)}
}

func writeAuditCSV(to *bytes.Buffer, all []controlplane.AuditEntry) error {
	rows := csv.NewWriter(to)
	for _, e := range convertAll(all, auditEntry) {
		row := []string{e.Id, strconv.FormatInt(valueOr(e.Seq, 0), 10),
			e.At.UTC().Format(time.RFC3339Nano), e.Actor, e.Action, e.Object, string(e.Result),
			valueOr(e.Detail, ""), valueOr(e.From, ""), valueOr(e.RequestId, ""), valueOr(e.Credential, "")}
		for i, cell := range row {
			row[i] = escapeFormula(cell)
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
}
