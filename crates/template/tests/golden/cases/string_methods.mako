${SetName.upper()}
${'Hello World'.lower()}
${'hello world'.title()}
${'hELLO'.capitalize()}
${'Ab'.swapcase()}
${'  x '.strip()}
${'xxaxx'.strip('x')}
${'  x '.lstrip() + '|'}
${'  x '.rstrip() + '|'}
${'a,b,,c'.split(',')}
${' a  b  c '.split()}
${' a  b  c '.split(None, 1)}
${'a.b.c'.rsplit('.', 1)}
${' a b c '.rsplit(None, 1)}
${'a\nb\r\nc\n'.splitlines()}
${'a\nb'.splitlines(True)}
${'k=v=w'.partition('=')}
${'k=v=w'.rpartition('=')}
${'kv'.partition('=')}
${'aXbX'.replace('X', '--')}
${'aaa'.replace('a', 'b', 2)}
${'abc'.replace('', '-')}
${'hello'.find('l')}
${'hello'.rfind('l')}
${'hello'.find('z')}
${'hello'.index('e')}
${'hello'.find('l', 3)}
${'banana'.count('an')}
${'banana'.count('')}
${'abc'.startswith('ab')}
${'abc'.startswith(('x', 'a'))}
${'abc'.endswith('c', 0, 2)}
${'7'.zfill(3)}
${'-7'.zfill(4)}
${'ab'.center(7, '*')}
${'abc'.center(6, '*')}
${'ab'.ljust(5, '.') + '|'}
${'ab'.rjust(5)}
${'12'.isdigit()}
${'1a'.isdigit()}
${'ab'.isalpha()}
${'a1'.isalnum()}
${'ab'.islower()}
${'AB'.isupper()}
${' \t'.isspace()}
${''.isdigit()}
${'a\tb'.expandtabs(4)}
${'unhappy'.removeprefix('un')}
${'file.txt'.removesuffix('.txt')}
${'-'.join(names)}
${''.join(reversed('abc'))}
${'中文é'.upper()}
${len('中文é')}
${'中文é'[1:]}
${'ß'.upper()}
