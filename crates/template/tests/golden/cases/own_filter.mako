<%
    def shout(text):
        return text.upper() + '!'
    def pad(width):
        return lambda text: text.rjust(width, '.')
%>${'abc' | shout}
${port | pad(8)}
${' x ' | trim,shout,h}
