"""The listener: http.server and werkzeug read the requests; connections are kept alive."""
