"""The one line of Python that takes the agent's program from stdin and runs it."""

# Without a newline, so that any login shell on the way can pass it on. It reads exactly as many
# bytes as it was told (argv: marker, length, …); what follows on stdin are frames. Docstrings are
# left out of memory (the last argument of compile).
BOOT = (
    "import os,sys;sys.version_info<(3,6) and sys.exit"
    "('firedup needs Python 3.6 or newer on the host; there is '+sys.version);"
    "exec('n=int(sys.argv[2]);s=[]\\n"
    "while n:\\n d=os.read(0,n)\\n if not d: sys.exit(9)\\n n-=len(d);s.append(d)');"
    "SOURCE=b''.join(s);exec(compile(SOURCE,'firedup-agent','exec',0,True,2))"
)
