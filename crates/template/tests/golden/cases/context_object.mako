${context.get('port')} ${context.get('missing')} ${context.get('missing', 'default')} ${context['SetName']}<% context.write('written') %>
