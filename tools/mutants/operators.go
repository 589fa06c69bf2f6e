package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// chooser is the function that tells at run time whether a mutant was chosen; choice is
// replaced by its number when all files are known.
const (
	chooser = "nullopsMutant"
	choice  = chooser + "(NUMBER)"
)

// orders are the comparisons whose boundary is moved, and the helper that does so.
var orders = map[token.Token]string{
	token.LSS: "Less", token.LEQ: "LessOrEqual", token.GTR: "More", token.GEQ: "MoreOrEqual",
}

// quiet are methods whose absence no test may notice: a lock matters in a race only, and what
// is logged is for people.
var quiet = []string{
	"Lock", "Unlock", "RLock", "RUnlock", "Debug", "Info", "Warn", "Error", "Log", "Helper",
	"DebugContext", "InfoContext", "WarnContext", "ErrorContext", "panic",
}

// finder collects the mutants of one file.
type finder struct {
	set      *token.FileSet
	file     string
	text     string
	function string // empty outside of functions
	inConst  bool
	found    []mutant
	// conditions are the comparisons that are a condition already, and not mutated twice.
	conditions []ast.Expr
	// cases are the expressions of switches. Coverage counts none of them: a test comes by
	// when it comes by the switch.
	cases []switchCase
}

// switchCase is an expression of a switch, which is at a position.
type switchCase struct {
	expression ast.Expr
	at         token.Pos
}

// visit adds the mutants of one node.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ArrayType, *ast.DeferStmt:
		// A length is a constant; a defer mostly unlocks or closes.
		return false
	case *ast.GenDecl:
		if n.Tok == token.CONST && !f.inConst {
			return false
		}
	case *ast.IfStmt:
		f.conditions = append(f.conditions, n.Cond)
		f.negate(n.Cond)
	case *ast.SwitchStmt:
		f.addCases(n)
	case *ast.BinaryExpr:
		f.visitBinary(n)
	case *ast.BasicLit:
		f.addConstant(n)
	case *ast.BlockStmt:
		f.addDrops(n.List)
	case *ast.CaseClause:
		f.addDrops(n.Body)
	case *ast.CommClause:
		f.addDrops(n.Body)
	}
	return true
}

func (f *finder) addCases(n *ast.SwitchStmt) {
	for _, clause := range n.Body.List {
		for _, expression := range clause.(*ast.CaseClause).List {
			f.cases = append(f.cases, switchCase{expression, n.Pos()})
		}
	}
}

// findPassage returns where a test comes by that reaches a position. In nested switches, which
// a case can hold in a function literal only, the outer one is enough.
func (f *finder) findPassage(at token.Pos) token.Pos {
	for _, c := range f.cases {
		if c.expression.Pos() <= at && at < c.expression.End() {
			return c.at
		}
	}
	return at
}

func (f *finder) visitBinary(n *ast.BinaryExpr) {
	if f.inConst {
		return
	}
	helper, isOrder := orders[n.Op]
	switch {
	case n.Op == token.LAND || n.Op == token.LOR:
		// x || y is !(!x && !y), and the other way round.
		f.add("swap", n, n.Pos(),
			f.wrap(n, "("+choice+" != (", "))"),
			f.wrap(n.X, "("+choice+" != (", "))"),
			f.wrap(n.Y, "("+choice+" != (", "))"))
	case isOrder:
		at := f.offset(n.OpPos)
		f.add("boundary", n, n.Pos(), f.wrap(n, chooser+helper+"(NUMBER, ", ")"),
			[]edit{{begin: at, end: at + len(n.Op.String()), text: ","}})
	case (n.Op == token.EQL || n.Op == token.NEQ) && !slices.Contains(f.conditions, ast.Expr(n)):
		f.negate(n)
	}
}

func (f *finder) negate(n ast.Expr) {
	f.add("negate", n, n.Pos(), f.wrap(n, "("+choice+" != (", "))"))
}

// addConstant adds one to a decimal number. Modes of files and masks are in other bases.
func (f *finder) addConstant(n *ast.BasicLit) {
	value, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 64)
	if n.Kind != token.INT || err != nil || len(n.Value) > 1 && n.Value[0] == '0' {
		return
	}
	at := f.offset(n.Pos())
	f.add("constant", f.around(n), n.Pos(),
		[]edit{{begin: at, end: at + len(n.Value), text: strconv.FormatInt(value+1, 10)}})
	m := &f.found[len(f.found)-1]
	m.alone = true
	if !f.inConst {
		m.chosen = f.wrap(n, chooser+"Add(NUMBER, "+f.kindOf(n)+"(", "))")
	}
}

// kindOf guesses the type of a constant in an expression: that of a duration beside a unit. When
// the guess is wrong the compiler says so, and the mutant is built by itself.
func (f *finder) kindOf(n *ast.BasicLit) string {
	begin, end := f.offset(n.Pos()), f.offset(n.End())
	if beforeUnit.MatchString(f.text[end:]) || afterUnit.MatchString(f.text[:begin]) {
		return "time.Duration"
	}
	return ""
}

var (
	beforeUnit = regexp.MustCompile(`^ ?\* ?time\.`)
	afterUnit  = regexp.MustCompile(`time\.(Hour|Minute|Second|Millisecond) ?[*/] ?$`)
)

// around is the line of a constant, which by itself says nothing.
func (f *finder) around(n ast.Node) ast.Node {
	at := f.offset(n.Pos())
	begin := strings.LastIndexByte(f.text[:at], '\n') + 1
	end := at + strings.IndexByte(f.text[at:]+"\n", '\n')
	base := n.Pos() - token.Pos(at)
	return &ast.BadExpr{From: base + token.Pos(begin), To: base + token.Pos(end)}
}

// addDrops leaves out each statement of a block that something else can do without.
func (f *finder) addDrops(block []ast.Stmt) {
	for _, statement := range block {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if isQuiet(s.X) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || isBlank(s.Lhs) {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt:
		default:
			continue
		}
		f.add("drop", statement, statement.Pos(), f.wrap(statement, "if !"+choice+" { ", " }"))
	}
}

func isQuiet(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	switch name := call.Fun.(type) {
	case *ast.Ident:
		return slices.Contains(quiet, name.Name)
	case *ast.SelectorExpr:
		return slices.Contains(quiet, name.Sel.Name)
	}
	return false
}

func isBlank(left []ast.Expr) bool {
	for _, x := range left {
		if name, ok := x.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}

// addReturns makes a function return at once: nothing, zero values, or true.
func (f *finder) addReturns(d *ast.FuncDecl) {
	if len(d.Body.List) == 0 || d.Name.Name == "init" {
		return
	}
	var zeros, kinds []string
	if d.Type.Results != nil {
		for _, field := range d.Type.Results.List {
			kind := f.source(field.Type)
			for range max(1, len(field.Names)) {
				zeros = append(zeros, "*new("+kind+")")
				kinds = append(kinds, kind)
			}
		}
	}
	if strings.Contains(strings.Join(zeros, ""), "\n") {
		return
	}
	returned := ""
	if only, ok := d.Body.List[0].(*ast.ReturnStmt); ok && len(only.Results) == 1 {
		returned = f.source(only.Results[0])
	}
	isZero := slices.Contains([]string{"nil", "false", `""`, "0"}, returned) ||
		strings.HasSuffix(returned, "{}")
	if !isZero {
		f.addReturn(d, "return zero", strings.Join(zeros, ", "))
	}
	if slices.Equal(kinds, []string{"bool"}) && returned != "true" {
		f.addReturn(d, "return true", "true")
	}
}

func (f *finder) addReturn(d *ast.FuncDecl, operator, values string) {
	at := f.offset(d.Body.Lbrace) + 1
	f.add(operator, nil, d.Body.List[0].Pos(),
		[]edit{{begin: at, end: at, text: fmt.Sprintf(" if %s { return %s }; ", choice, values)}})
}

// add adds a mutant of a node, which a test has to come by at a position.
func (f *finder) add(operator string, n ast.Node, at token.Pos, edits ...[]edit) {
	passage := f.set.Position(f.findPassage(at))
	m := mutant{
		file: f.file, line: f.set.Position(at).Line,
		passage: place{passage.Line, passage.Column},
		edits:   slices.Concat(edits...), anywhere: f.function == "",
	}
	m.id = strings.Join(strings.Fields(f.file+" "+f.function+" "+operator), " ")
	if n != nil {
		m.id += " `" + shorten(f.source(n)) + "`"
	}
	f.found = append(f.found, m)
}

// shorten makes a piece of code fit the cell of a table.
func shorten(code string) string {
	code = strings.Join(strings.Fields(strings.NewReplacer("`", "'", "|", "¦").Replace(code)), " ")
	if letters := []rune(code); len(letters) > 60 {
		code = string(letters[:59]) + "…"
	}
	return code
}

func (f *finder) wrap(n ast.Node, before, after string) []edit {
	begin, end := f.offset(n.Pos()), f.offset(n.End())
	return []edit{
		{begin: begin, end: begin, text: before},
		{begin: end, end: end, text: after, closes: true},
	}
}

func (f *finder) source(n ast.Node) string {
	return f.text[f.offset(n.Pos()):f.offset(n.End())]
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }
