package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/nullops/nullops/deploy/examples/shop/release"
)

//go:embed page.html
var pageHTML string

type server struct {
	api, token, place string
	info              release.Info
	client            *http.Client
	log               *slog.Logger
}

func (s server) routes() http.Handler {
	page := template.Must(template.New("page").Parse(pageHTML))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("POST /buy/{id}", s.buyProduct)
	mux.HandleFunc(
		"GET /{$}",
		func(w http.ResponseWriter, r *http.Request) { s.showProducts(w, r, page) },
	)
	return mux
}

// serveHealth is good when the process runs; the page itself says if the api does.
func (s server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"status": "ok", "version": s.info.Version})
}

type product struct {
	ID         int    `json:"id"`
	Name       string `json:"name"`
	Blurb      string `json:"blurb"`
	PriceCents int    `json:"price_cents"`
	Stock      int    `json:"stock"`
}

// Price is in euros, for the page.
func (p product) Price() string {
	return fmt.Sprintf("€%d.%02d", p.PriceCents/100, p.PriceCents%100)
}

// view is what the page shows.
type view struct {
	Place      string
	Info       release.Info
	APIVersion string
	Products   []product
	Cart       bool
	CanBuy     bool
	Notice     string
	Problem    string
}

func (s server) showProducts(w http.ResponseWriter, r *http.Request, page *template.Template) {
	v := view{
		Place: s.place, Info: s.info, Cart: s.info.Has("cart-redesign"),
		CanBuy: s.token != "", Notice: r.URL.Query().Get("notice"),
	}
	status := http.StatusOK
	var answer struct {
		Version  string    `json:"version"`
		Products []product `json:"products"`
	}
	if err := s.get(r.Context(), "/products", &answer); err != nil {
		s.log.Warn("read products", "error", err)
		v.Problem, status = "The shop's api does not answer.", http.StatusBadGateway
	}
	v.APIVersion, v.Products = answer.Version, answer.Products
	var out bytes.Buffer
	if err := page.Execute(&out, v); err != nil {
		s.log.Error("render the page", "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	s.log.Info("page", "status", status, "products", len(v.Products))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // the reader has gone
}

// buyProduct sells one piece through the api and goes back to the page.
func (s server) buyProduct(w http.ResponseWriter, r *http.Request) {
	notice := "Sold one. Thank you!"
	path := "/products/" + url.PathEscape(r.PathValue("id")) + "/sell"
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, s.api+path, nil)
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+s.token)
		err = s.do(req, &struct{}{})
	}
	if err != nil {
		s.log.Warn("buy", "error", err)
		notice = "That did not work: " + err.Error()
	}
	http.Redirect(w, r, "/?notice="+url.QueryEscape(notice), http.StatusSeeOther)
}

func (s server) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.api+path, nil)
	if err != nil {
		return err
	}
	return s.do(req, into)
}

func (s server) do(req *http.Request, into any) error {
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the api answered %s", resp.Status)
	}
	return json.Unmarshal(body, into)
}
