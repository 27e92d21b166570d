"""The one line of Python that takes the agent's program from stdin and runs it."""

# Without a newline, so that any login shell on the way can pass it on. It reads exactly as many
# bytes as it was told (argv: marker, length, …); what follows on stdin are frames. It runs the
# first module, up to the form feed; that one runs what else is needed (part.py).
BOOT = (
    "import os,sys;sys.version_info<(3,6) and sys.exit"
    "('firedup needs Python 3.6 or newer on the host; there is '+sys.version);"
    "exec('n=int(sys.argv[2]);s=[]\\n"
    "while n:\\n d=os.read(0,n)\\n if not d: sys.exit(9)\\n n-=len(d);s.append(d)\\n"
    'SOURCE=b"".join(s)\\n'
    "p=SOURCE.partition(bytes([12]))[0]\\n"
    'exec(compile(p,p.partition(bytes([10]))[0],"exec",0,True,2))'
    "')"
)
