package api

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nullops/nullops/controlplane/usage"
)

// summed is one amount of a balance: its column in CSV, which is its metric's name after
// nullops_usage_, and what that is.
type summed struct {
	column, help string
	of           func(UsageBalance) float64
}

// summedColumns are the amounts of a balance, with the cost if there are prices.
func summedColumns(b usage.Balances) []summed {
	all := []summed{
		{"cpu_seconds", "Processor time that was reserved: cores times seconds.",
			func(u UsageBalance) float64 { return u.Amounts.CpuSeconds }},
		{"memory_byte_seconds", "Memory that was reserved: bytes times seconds.",
			func(u UsageBalance) float64 { return u.Amounts.MemoryByteSeconds }},
		{"gpu_seconds", "GPUs that were reserved: GPUs times seconds.",
			func(u UsageBalance) float64 { return u.Amounts.GpuSeconds }},
		{"volume_byte_seconds", "What volumes took: bytes times seconds.",
			func(u UsageBalance) float64 { return u.Amounts.VolumeByteSeconds }},
		{"traffic_bytes", "What services sent and received.",
			func(u UsageBalance) float64 { return u.Amounts.TrafficBytes }},
	}
	if b.Prices.Currency != "" {
		all = append(all, summed{"cost", "What it cost, in " + b.Prices.Currency + ".",
			func(u UsageBalance) float64 { return valueOr(u.Cost, 0) }})
	}
	return all
}

// exportBalances writes balances as a file.
func exportBalances(
	b usage.Balances, format ExportUsageParamsFormat,
) (ExportUsageResponseObject, error) {
	var out bytes.Buffer
	switch format {
	case ExportUsageParamsFormatPrometheus:
		writeBalanceMetrics(&out, b)
		return ExportUsage200TextResponse{Body: out.String(), Headers: usageFileHeaders("prom")}, nil
	case ExportUsageParamsFormatJsonl:
		err := writeBalanceLines(&out, b)
		return ExportUsage200ApplicationxNdjsonResponse{Body: &out,
			Headers: usageFileHeaders("jsonl")}, err
	default:
		err := writeBalanceCSV(&out, b)
		return ExportUsage200TextcsvResponse{Body: &out, Headers: usageFileHeaders("csv")}, err
	}
}

// writeBalanceLines names each group by what it is, so that a line says all by itself.
func writeBalanceLines(to *bytes.Buffer, b usage.Balances) error {
	lines := json.NewEncoder(to)
	for _, row := range b.Rows {
		line := map[string]any{}
		for i, group := range b.By {
			line[string(group)] = row.Key[i]
		}
		balance := toUsageBalance(b, row)
		for _, c := range summedColumns(b) {
			line[c.column] = c.of(balance)
		}
		if b.Prices.Currency != "" {
			line["currency"] = b.Prices.Currency
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func writeBalanceCSV(to *bytes.Buffer, b usage.Balances) error {
	columns := summedColumns(b)
	var head []string
	for _, group := range b.By {
		head = append(head, string(group))
	}
	for _, c := range columns {
		head = append(head, c.column)
	}
	rows := csv.NewWriter(to)
	if err := rows.Write(head); err != nil {
		return err
	}
	for _, balance := range b.Rows {
		var row []string
		for _, name := range balance.Key {
			row = append(row, escapeFormula(name))
		}
		for _, c := range columns {
			row = append(row, formatAmount(c.of(toUsageBalance(b, balance))))
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
}

// labelText escapes the value of a label for Prometheus' text format.
var labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// writeBalanceMetrics writes Prometheus' text format. They are gauges: a correction, or the start
// of a month, makes them smaller.
func writeBalanceMetrics(to *bytes.Buffer, b usage.Balances) {
	for _, c := range summedColumns(b) {
		name := "nullops_usage_" + c.column
		fmt.Fprintf(to, "# HELP %s %s\n# TYPE %s gauge\n", name, c.help, name)
		for _, row := range b.Rows {
			var labels []string
			for i, group := range b.By {
				labels = append(labels, string(group)+`="`+labelText.Replace(row.Key[i])+`"`)
			}
			fmt.Fprintf(to, "%s{%s} %s\n", name, strings.Join(labels, ","),
				formatAmount(c.of(toUsageBalance(b, row))))
		}
	}
}

func formatAmount(amount float64) string { return strconv.FormatFloat(amount, 'f', -1, 64) }
