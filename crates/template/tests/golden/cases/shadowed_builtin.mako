<%
    def f():
        max = 3
        return max
%>${f()} ${max(1, 2)}
