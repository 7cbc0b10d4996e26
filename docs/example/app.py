"""A server that needs nothing but Python. A runtime would serve `graph`; here the server is all that there is."""

import http.server
import os

TEXT = "the first version"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(TEXT.encode())


graph = Handler

if __name__ == "__main__":
    http.server.HTTPServer(("", int(os.environ.get("PORT", "8000"))), Handler).serve_forever()
